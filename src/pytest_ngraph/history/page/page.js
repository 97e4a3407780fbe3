// Draws a line for each case when it comes near the window, and a case's nights when it is opened.
const data = JSON.parse(document.getElementById("data").textContent);
const list = document.getElementById("cases");
const SVG = "http://www.w3.org/2000/svg";
const SHORT = 10;

function make(parent, name, attributes = {}, text = "") {
  const made = parent instanceof SVGElement || name === "svg"
    ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  parent.append(made);
  return made;
}

const day = (series, place) => data.days[series.day[place]];
const percent = (ratio) => `${Math.abs(100 * (ratio - 1)).toFixed(1)} %`;
const change = (ratio) => `${percent(ratio)} ${ratio >= 1 ? "slower" : "faster"}`;
const way = (step) => step.ratio >= 1 ? "slower" : "faster";
const shown = (series, value) => series.unit === "ratio" ? value.toFixed(3) : `${value.toPrecision(4)} s`;
const short = (commit) => commit ? commit.slice(0, SHORT) : "unknown commit";

function scales(series, width, height, left, bottom, bounds) {
  const first = series.when[0], span = Math.max(1, series.when[series.when.length - 1] - first);
  const [low, high] = bounds;
  const reach = high - low || Math.abs(high) / 100 || 1;
  return {
    x: (place) => left + (series.when[place] - first) / span * (width - left - 4),
    y: (value) => 4 + (high - Math.min(high, Math.max(low, value))) / reach * (height - bottom - 8),
  };
}

function path(series, { x, y }) {
  return series.value.map((value, place) => `${place ? "L" : "M"}${x(place).toFixed(1)} ${y(value).toFixed(1)}`).join("");
}

function spark(series, svg) {
  const scale = scales(series, 320, 36, 2, 0, [Math.min(...series.value), Math.max(...series.value)]);
  svg.setAttribute("viewBox", "0 0 320 36");
  make(svg, "path", { class: "curve", d: path(series, scale) });
  for (const step of series.steps) {
    const x = scale.x(step.place);
    make(svg, "line", { class: `mark ${way(step)}`, x1: x, x2: x, y1: 0, y2: 36 });
  }
}

function ticks(low, high) {
  const rough = (high - low) / 5 || 1, size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * size >= rough) * size;
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) found.push(value);
  return found;
}

function changes(series) {
  const found = [];
  for (let place = 1; place < series.when.length; place++) {
    const before = series.environment[place - 1], after = series.environment[place];
    if (before === after) continue;
    const [one, other] = [data.environments[before], data.environments[after]];
    const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((name) => one[name] !== other[name]);
    found.push({ place, texts: names.map((name) => `${name} ${one[name] ?? "none"} -> ${other[name] ?? "none"}`) });
  }
  return found;
}

function nights(series, parent) {
  const width = 1180, height = 280, left = 64, bottom = 20;
  const values = [...series.value].sort((one, other) => one - other);
  const middle = values[Math.floor(values.length / 2)];
  const spread = Math.max(...series.value) - Math.min(...series.value) || middle / 100;
  const bounds = [Math.min(...series.value) - spread / 4, Math.max(...series.value) + spread / 4];
  const scale = scales(series, width, height, left, bottom, bounds);
  const svg = make(parent, "svg", { class: "nights", viewBox: `0 0 ${width} ${height}`, role: "img" });
  for (const value of ticks(...bounds)) {
    make(svg, "line", { class: "grid", x1: left, x2: width, y1: scale.y(value), y2: scale.y(value) });
    make(svg, "text", { class: "label", x: 0, y: scale.y(value) + 4 }, shown(series, value));
  }
  const last = series.when.length - 1;
  for (const place of [...new Set([0, 1, 2, 3, 4].map((part) => Math.round(part / 4 * last)))]) {
    const anchor = place === last && last ? "end" : "start";
    make(svg, "text", { class: "label", x: scale.x(place), y: height - 4, "text-anchor": anchor }, day(series, place));
  }
  for (const { place } of changes(series)) {
    make(svg, "line", { class: "changed", x1: scale.x(place), x2: scale.x(place), y1: 4, y2: height - bottom });
  }
  for (const step of series.steps) {
    const from = scale.x(Math.max(0, step.earliest - 1)), to = scale.x(step.latest), x = scale.x(step.place);
    make(svg, "rect", { class: `range ${way(step)}`, x: from, width: Math.max(2, to - from), y: 4, height: height - bottom - 8 });
    make(svg, "line", { class: `mark ${way(step)}`, x1: x, x2: x, y1: 4, y2: height - bottom });
  }
  let intervals = "";
  series.value.forEach((value, place) => {
    const low = series.low[place] ?? bounds[0], high = series.high[place] ?? bounds[1];
    intervals += `M${scale.x(place).toFixed(1)} ${scale.y(low).toFixed(1)}V${scale.y(high).toFixed(1)}`;
  });
  make(svg, "path", { class: "interval", d: intervals });
  make(svg, "path", { class: "curve", d: path(series, scale) });
  const dot = make(svg, "circle", { class: "dot", r: 3.5, cx: -9, cy: -9 });
  const under = make(parent, "p", { class: "soft under" }, "Move over the nights to see each.");
  svg.addEventListener("pointermove", (event) => {
    const at = (event.clientX - svg.getBoundingClientRect().left) * width / svg.getBoundingClientRect().width;
    let place = 0;
    for (let each = 1; each <= last; each++) if (Math.abs(scale.x(each) - at) < Math.abs(scale.x(place) - at)) place = each;
    dot.setAttribute("cx", scale.x(place));
    dot.setAttribute("cy", scale.y(series.value[place]));
    const bound = (value) => value == null ? "unknown" : shown(series, value);
    under.textContent = `${day(series, place)}: ${shown(series, series.value[place])} (95 % interval `
      + `${bound(series.low[place])} to ${bound(series.high[place])}), ${short(data.commits[series.commit[place]])}`;
  });
}

function steps(series, parent) {
  for (const step of series.steps) {
    const box = make(parent, "div", { class: "step" });
    const [low, high] = [step.low, step.high].map((bound) => (100 * (bound - 1) * (step.ratio >= 1 ? 1 : -1)).toFixed(1)).sort((one, other) => one - other);
    make(box, "strong", { class: way(step) }, `${change(step.ratio)} since ${day(series, step.place)}`);
    make(box, "span", { class: "soft" }, ` 95 % interval ${low} to ${high} %, between ${short(step.good)} and ${short(step.bad)}`);
    const causes = make(box, "ul");
    for (const text of step.libraries) make(causes, "li", {}, text);
    for (const text of step.machine) make(causes, "li", {}, `machine: ${text}`);
    if (step.bisect) make(make(box, "p"), "code", {}, step.bisect);
  }
}

function open(series, parent) {
  const panel = make(parent, "div", { class: "open" });
  nights(series, panel);
  steps(series, panel);
  const compared = ({ ratio, beside }) => ratio === null ? `its ratio to ${beside} is unknown` : `${change(ratio)} than ${beside}`;
  const anchors = series.anchors.map((each) => each.beside === null ? each.name
    : `${each.name} since ${day(series, each.start)} (${compared(each)})`);
  if (anchors.length) make(panel, "p", { class: "soft" }, `Measured beside ${anchors.join(", ")}.`);
  const found = changes(series);
  if (found.length) make(panel, "p", {}, "Changes of the environment (dashed):");
  const items = make(panel, "ul", { class: "changes" });
  for (const { place, texts } of found) make(items, "li", {}, `${day(series, place)}: ${texts.join(", ")}`);
}

const rows = data.series.map((series) => {
  const row = make(list, "div", { class: "case" });
  const button = make(row, "button", { type: "button", "aria-expanded": "false" });
  make(button, "span", {}, series.case);
  const svg = make(button, "svg", { class: "spark", preserveAspectRatio: "none" });
  const said = make(button, "span");
  make(said, "span", {}, shown(series, series.value[series.value.length - 1]));
  const newest = series.steps[series.steps.length - 1];
  if (newest) make(said, "span", { class: way(newest) }, `  ${change(newest.ratio)} since ${day(series, newest.place)}`);
  button.addEventListener("click", () => {
    const panel = row.querySelector(".open");
    if (panel) panel.remove(); else open(series, row);
    button.setAttribute("aria-expanded", panel ? "false" : "true");
  });
  return { series, row, svg, newest, largest: Math.max(0, ...series.steps.map((step) => Math.abs(Math.log(step.ratio)))) };
});

const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    observer.unobserve(target);
    const { series, svg } = rows.find((each) => each.row === target);
    spark(series, svg);
  }
}, { rootMargin: "300px" });
rows.forEach(({ row }) => observer.observe(row));

const orders = {
  newest: (one, other) => (other.newest?.when ?? 0) - (one.newest?.when ?? 0) || one.series.case.localeCompare(other.series.case),
  largest: (one, other) => other.largest - one.largest || one.series.case.localeCompare(other.series.case),
  name: (one, other) => one.series.case.localeCompare(other.series.case),
};
const FILTERS = ["workload", "compiler", "device"];
const control = (name) => document.getElementById(name);

function apply() {
  const words = control("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0, total = 0;
  for (const { series, row, newest } of rows) {
    const isShown = words.every((word) => series.case.toLowerCase().includes(word))
      && FILTERS.every((name) => !control(name).value || control(name).value === JSON.stringify(series[name]))
      && (!control("stepped").checked || newest);
    row.hidden = !isShown;
    if (!isShown) continue;
    count += 1;
    total += series.steps.length;
  }
  rows.sort(orders[control("order").value]);
  list.append(...rows.map(({ row }) => row));
  document.getElementById("summary").textContent = `${count} of ${rows.length} cases, ${total} ${total === 1 ? "step" : "steps"}`;
}

for (const name of FILTERS) {
  const select = control(name);
  make(select, "option", { value: "" }, `every ${name}`);
  for (const value of [...new Set(data.series.map((series) => series[name]))].sort()) {
    make(select, "option", { value: JSON.stringify(value) }, value || `no ${name}`);
  }
  select.hidden = select.options.length < 3;
}
document.getElementById("controls").addEventListener("input", apply);
document.getElementById("controls").addEventListener("submit", (event) => event.preventDefault());

/* A link to one case, as the summary of a pull request has it: #CASE. */
function show() {
  let name = "";
  try { name = decodeURIComponent(location.hash.slice(1)); } catch { return; }
  const linked = rows.find(({ series }) => series.case === name);
  if (!linked) return;
  control("search").value = name;
  for (const filter of FILTERS) control(filter).value = "";
  control("stepped").checked = false;
  apply();
  if (!linked.row.querySelector(".open")) linked.row.querySelector("button").click();
}
window.addEventListener("hashchange", show);
apply();
show();
document.body.dataset.ready = "yes";
