// The texts of the page with an element around each line and each part; what lights up; moving a text to a place.
const data = JSON.parse(document.getElementById("data").textContent);
const get = id => document.getElementById(id);
const root = document.documentElement;
const panes = [...document.querySelectorAll("main pre")];
const setsOf = data.equations.map(() => []);  // equation -> the numbers of sets that it is in
const elements = data.sets.map(() => []);     // set -> the parts of texts that belong to it
data.sets.forEach((ids, s) => ids.forEach(k => setsOf[k].push(s)));

const escaped = text => text.replace(/[&<]/g, c => c == "&" ? "&amp;" : "&lt;");

// The text of a pane with an element around each line and each part. Parts are nested and lie in one line. Lines are
// gathered in blocks, of which a browser lays out and paints those that are seen.
function dressed(text, {parts, numbers}) {
  const starts = [], html = [], ends = [];
  for (let i = 0, at = 0; i < parts.length; i += 3) starts.push([at += parts[i], at + parts[i + 1], parts[i + 2]]);
  let at = 0, next = 0, number = 0;
  const to = end => { html.push(escaped(text.slice(at, end))); at = end; };
  text.split("\n").forEach((line, k) => {
    const end = at + line.length;
    number = numbers[k] == null ? number : number + numbers[k];
    if (k % 40 == 0) html.push(k ? '</span><span class="b">' : '<span class="b">');
    const first = starts[next], kernel = data.kernel && first && first[0] < end ? data.kernel[first[2]] : -1;
    html.push(`<span class="l${kernel < 0 ? "" : " k" + kernel % 6}" data-n="${numbers[k] == null ? "" : shown(number)}">`);
    while (next < starts.length && starts[next][0] < end) {
      const [begin, stop, set] = starts[next++];
      while (ends.length && ends.at(-1) <= begin) { to(ends.pop()); html.push("</span>"); }
      to(begin);
      html.push(`<span data-s="${set}">`);
      ends.push(stop);
    }
    while (ends.length) { to(ends.pop()); html.push("</span>"); }
    to(end);
    html.push("</span>\n");
    at = end + 1;
  });
  return html.join("") + "</span>";
  function shown(n) { return parts.hex ? n.toString(16) : n; }
}

panes.forEach(pane => {
  const of = data.panes[pane.id];
  of.parts.hex = pane.id == "assembly";
  pane.innerHTML = dressed(pane.textContent, of);
  pane.querySelectorAll("[data-s]").forEach(e => elements[e.dataset.s].push(e));
});

// Lights up the parts that belong to equations, and no others. Where there are thousands, those in sight at once and
// the rest by and by, unless all are asked for: a line in a loop of Python may have written all equations.
const inSight = new Set();
const watch = new IntersectionObserver(seen => seen.forEach(e => inSight[e.isIntersecting ? "add" : "delete"](e.target)));
document.querySelectorAll("main .b").forEach(block => watch.observe(block));
function mark(name) {
  let marked = new Set(), timer = 0;
  const late = new Set();  // sets whose parts do not look as they should yet
  const put = s => { late.delete(s); for (const e of elements[s]) e.classList.toggle(name, marked.has(s)); };
  function some(count) {
    for (const s of late) {
      if (count <= 0) break;
      count -= elements[s].length;
      put(s);
    }
    clearTimeout(timer);
    if (late.size) timer = setTimeout(some, 0, 1500);
  }
  return (ids, all) => {
    const before = marked;
    marked = new Set();
    for (const k of ids) for (const s of setsOf[k]) marked.add(s);
    for (const s of before) if (!marked.has(s)) late.add(s);
    for (const s of marked) if (!before.has(s)) late.add(s);
    if (late.size > 1500)
      for (const block of inSight) for (const e of block.querySelectorAll("[data-s]"))
        e.classList.toggle(name, marked.has(+e.dataset.s));
    some(all ? Infinity : late.size > 1500 ? 0 : 1500 * 8);
  };
}

// Move only the pane, never the page.
function show(pane, element) {
  if (!element) return;
  const box = pane.getBoundingClientRect(), at = element.getBoundingClientRect();
  if (at.top < box.top || at.bottom > box.bottom) pane.scrollTop += at.top - box.top - box.height / 3;
}

