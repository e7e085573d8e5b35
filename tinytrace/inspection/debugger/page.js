// Steps through a recorded run. An event is an equation that ran: [equation, frame, place behind its bodies,
// whether it made a NaN or infinity, numbers of the values]. A frame is a body in one iteration.
const {events, frames} = data, end = events.length;
const slider = get("slider"), until = get("until"), first = +slider.min;
const lines = [...document.querySelectorAll("#run .l")];
const light = mark("lit");
let at = first;

// The variables that have values before event p: [name, type, value, whether the last equation computed it].
function known(p) {
  const frame = p < end ? events[p][1] : 0, rows = new Map();
  for (const [name, type, value] of frames[frame][2]) rows.set(name, [name, type, data.values[value], false]);
  for (const [equation, of, after, , values] of events.slice(0, p)) {
    if (of != frame || !values || after > p) continue;
    data.equations[equation][2].forEach(([name, type], k) => {
      if (name == "_") return;
      rows.delete(name);
      rows.set(name, [name, type, data.values[values[k]], after == p]);
    });
  }
  return [...rows.values()];
}

// The equations that we are inside of, the outermost first; then the equation itself.
function where(p) {
  const text = lines[p].textContent.trim();
  if (p == end) return text;
  const around = [];
  for (let f = events[p][1]; frames[f][0] >= 0; f = events[frames[f][0]][1])
    around.unshift(`in ${data.equations[events[frames[f][0]][0]][0]}, run ${frames[f][1]}: `);
  const line = data.equations[events[p][0]][1];
  return `${around.join("")}equation ${lines[p].dataset.n}${line ? `, line ${line}` : ""}\n-> ${text.split("  # ")[0]}`;
}

function go(p) {
  lines[at].classList.remove("at");
  at = Math.max(first, Math.min(p, end));
  lines[at].classList.add("at");
  light(at < end ? [events[at][0]] : []);
  for (const pane of panes) show(pane, pane.id == "run" ? lines[at] : pane.querySelector(".lit"));
  slider.value = at;
  get("where").textContent = where(at);
  slider.setAttribute("aria-valuetext", get("where").textContent);
  const read = new Set(at < end ? data.equations[events[at][0]][3] : []);
  const rows = known(at).map(([name, type, value, fresh]) => {
    const row = document.createElement("tr");
    row.className = `${read.has(name) ? "read" : ""} ${fresh ? "fresh" : ""}`;
    for (const text of [name, type, value]) row.insertCell().textContent = text;
    return row;
  });
  document.querySelector("tbody").replaceChildren(...rows);
  const important = rows.find(row => row.className.trim());
  if (important) show(get("variables"), important);
}

// The next event, in one direction, that is wanted; where there is none, say so and stay.
function run(direction, wanted, what) {
  let p = at + direction;
  while (p >= first && p < end && !wanted(events[p])) p += direction;
  if (p >= first && p < end) go(p);
  else get("where").textContent = `There is no ${what} ${direction > 0 ? "behind" : "before"} this place on this page.`;
}
function untilWanted(direction) {
  const text = until.value.trim();
  if (!text) get("where").textContent = "Until what? A line number, a primitive, or nan.";
  else if (/^\d+$/.test(text)) run(direction, e => data.equations[e[0]][1] == text, `equation of line ${text}`);
  else if (/^(nan|inf|infinity)$/i.test(text)) run(direction, e => e[3], "NaN or infinity made of finite numbers");
  else run(direction, e => data.equations[e[0]][0] == text, `equation ${text}`);
}

const moves = {
  start: () => go(first),
  end: () => go(end),
  step: () => go(at + 1),
  back: () => go(at - 1),
  next: () => go(at < end ? events[at][2] : end),
  out: () => { const parent = at < end ? frames[events[at][1]][0] : -1; go(parent < 0 ? end : events[parent][2]); },
  earlier: () => untilWanted(-1),
};
const keys = {s: "step", ArrowRight: "step", n: "next", o: "out", b: "back", ArrowLeft: "back", Home: "start", End: "end"};

document.addEventListener("click", event => {
  const move = event.target.dataset && event.target.dataset.move;
  if (move) { moves[move](); return; }
  const line = event.target.closest("#run .l"), part = event.target.closest("[data-s]");
  if (line) go(lines.indexOf(line));
  else if (part) {
    const ids = new Set(data.sets[part.dataset.s]);
    const found = p => events.findIndex((e, k) => k >= p && ids.has(e[0]));
    const next = found(at + 1) < 0 ? found(first) : found(at + 1);
    if (next >= 0) go(next);
    else get("where").textContent = "This did not run on this page.";
  }
});
get("moves").addEventListener("submit", event => { event.preventDefault(); untilWanted(1); });
slider.addEventListener("input", () => go(+slider.value));
document.addEventListener("keydown", event => {
  if (event.target.matches("input") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key == "u") until.focus();
  else if (keys[event.key]) moves[keys[event.key]]();
  else return;
  event.preventDefault();
});
root.classList.add("on");
go(data.at);
