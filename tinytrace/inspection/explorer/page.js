"use strict";
(() => {
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
    const first = starts[next], kernel = first && first[0] < end ? data.kernel[first[2]] : -1;
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

// What lights up: every part that belongs to one of the equations, and to those inside of loops and calls.
const reach = ids => new Set(ids.flatMap(k => [k, ...(data.inside[k] || [])]));
function mark(name) {
  let marked = new Set();
  return ids => {
    const wanted = new Set();
    for (const k of ids) for (const s of setsOf[k]) wanted.add(s);
    for (const s of marked) if (!wanted.has(s)) for (const e of elements[s]) e.classList.remove(name);
    for (const s of wanted) if (!marked.has(s)) for (const e of elements[s]) e.classList.add(name);
    marked = wanted;
  };
}
const light = mark("lit"), touch = mark("touched");
let pointed = null, held = null, cursor = null;

function point(element) {
  if (element === pointed) return;
  pointed = element;
  light(element ? reach(data.sets[element.dataset.s]) : []);
  get("now").textContent = element ? told(element) : "";
}

// What is said of an equation.
const amount = (n, unit) => n < 1000 ? `${n} ${unit}` : n < 1e6 ? `${+(n / 1e3).toPrecision(3)} k${unit}` : `${+(n / 1e6).toPrecision(3)} M${unit}`;
function facts(k) {
  const [text, avals, bytes, operations, kernels, reason, passes, place, time] = data.equations[k];
  const rows = [`e${k} ${text}`, `${data.avals[avals]}, ${amount(bytes, "B")}`];
  if (operations) rows[1] += `, ${amount(operations, "flop")}`;
  if (kernels.length) rows[1] += `, in kernel ${kernels.join(", ")}`;
  if (time) rows[1] += ` (${time})`;
  if (place) rows[1] += `, ${place}`;
  if (reason) rows.push(data.reasons[reason - 1]);
  if (passes.length) rows.push("touched by " + passes.map(p => data.passes[p].name).join(", "));
  return rows.join("\n");
}
function lines(element) {
  const sets = new Set();
  for (const k of reach(data.sets[element.dataset.s])) setsOf[k].forEach(s => sets.add(s));
  return panes.map(pane => {
    const found = new Set();
    for (const s of sets) for (const e of elements[s]) if (pane.contains(e)) found.add(e.closest(".l").dataset.n);
    return `${pane.dataset.title}: ${found.size ? `${found.size > 1 ? "lines" : "line"} ${[...found].slice(0, 12).join(", ")}${found.size > 12 ? ", ..." : ""}` : "nothing"}`;
  }).join("; ");
}
function told(element) {
  const ids = data.sets[element.dataset.s];
  const rest = ids.length > 8 ? `\nand ${ids.length - 8} more: ${ids.slice(8, 40).map(k => "e" + k).join(" ")}` : "";
  return ids.slice(0, 8).map(facts).join("\n") + rest;
}

function hold(element) {
  held = element === held ? null : element;
  root.classList.toggle("held", !!held);
  point(null);
  point(element);
  if (!held) { get("said").textContent = "let go"; return; }
  get("said").textContent = `held: ${told(held)}. ${lines(held)}`;
  for (const pane of panes) if (!pane.contains(held)) show(pane, pane.querySelector(".lit"));
}
// Move only the pane, never the page.
function show(pane, element) {
  if (!element) return;
  const box = pane.getBoundingClientRect(), at = element.getBoundingClientRect();
  if (at.top < box.top || at.bottom > box.bottom) pane.scrollTop += at.top - box.top - box.height / 3;
}

const partAt = event => event.target.closest && event.target.closest("[data-s]");
const main = document.querySelector("main");
main.addEventListener("pointerover", event => { if (!held) point(partAt(event)); });
main.addEventListener("pointerleave", () => { if (!held) point(null); });
main.addEventListener("click", event => { const part = partAt(event); if (part || held) hold(part || held); });
document.addEventListener("keydown", event => {
  if (event.key == "Escape" && held) hold(held);
  const pane = event.target.closest && event.target.closest("main pre");
  if (!pane) return;
  const parts = [...pane.querySelectorAll("[data-s]")];
  const here = parts.indexOf(cursor), line = e => e.closest(".l");
  let to = null;
  if (event.key == "ArrowRight") to = parts[here + 1];
  else if (event.key == "ArrowLeft") to = parts[here - 1];
  else if (event.key == "ArrowDown") to = here < 0 ? parts[0] : parts.slice(here).find(e => line(e) != line(cursor));
  else if (event.key == "ArrowUp") to = here < 0 ? parts[0] : parts.slice(0, here).reverse().find(e => line(e) != line(cursor));
  else if ((event.key == "Enter" || event.key == " ") && here >= 0) hold(cursor);
  else return;
  event.preventDefault();
  if (!to) return;
  if (cursor) cursor.classList.remove("at");
  cursor = to;
  cursor.classList.add("at");
  show(pane, cursor);
  if (!held) { point(cursor); get("said").textContent = `${told(cursor)}. ${lines(cursor)}`; }
});

// The passes, one at a time; what a pass touched is marked everywhere.
const steps = [...document.querySelectorAll("#passes li")], slider = get("slider");
slider.addEventListener("input", () => {
  const step = data.passes[slider.value - 1];
  steps.forEach((li, k) => li.classList.toggle("shown", k == slider.value - 1));
  get("pass").textContent = step ? `${slider.value} of ${steps.length}: ${step.name} (${step.summary})` : "as traced";
  slider.setAttribute("aria-valuetext", get("pass").textContent);
  touch(step ? step.touched : []);
});
root.classList.add("on");
})();
