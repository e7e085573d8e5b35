// What belongs to an equation: every part of it, and of those inside of loops and calls.
const reach = ids => new Set(ids.flatMap(k => [k, ...(data.inside[k] || [])]));
const light = mark("lit"), touch = mark("touched");
let pointed = null, held = null, cursor = null;

function point(element, all) {
  if (element === pointed) return;
  pointed = element;
  light(element ? reach(data.sets[element.dataset.s]) : [], all);
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
  point(element, true);
  if (!held) { get("said").textContent = "let go"; return; }
  get("said").textContent = `held: ${told(held)}. ${lines(held)}`;
  for (const pane of panes) if (!pane.contains(held)) show(pane, pane.querySelector(".lit"));
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
