// Draws each figure when it comes near the window, and passes the reader's choices to all that are drawn.
const views = [];
const LEAST_WIDTH = 80, TALLEST = 220, MARGIN = 4, LEGEND_ENTRY = 115;  // pixels
const controls = document.getElementById("controls");

function choices() {
  const chosen = {};
  for (const group of controls.querySelectorAll("[data-hides]")) {
    const unchecked = group.querySelectorAll("input:not(:checked)");
    chosen[group.dataset.hides] = Array.from(unchecked, (box) => group.dataset.number ? Number(box.value) : box.value);
  }
  for (const box of controls.querySelectorAll("[data-shows]")) chosen[box.dataset.shows] = box.checked;
  return chosen;
}

function apply(view) {
  for (const [name, value] of Object.entries(choices())) view.signal(name, value);
  return view.runAsync();
}

// Panels that stand by themselves go below each other where they do not fit side by side.
function fit(spec, room) {
  const beside = Math.max(...spec.concat.map((panel) => panel.width)) + 140;
  spec.columns = Math.max(1, Math.min(spec.columns, Math.floor(room / beside)));
  for (const panel of spec.concat) {
    panel.width = Math.min(panel.width, Math.max(150, room - 140));
    for (const { encoding } of panel.layer) if (encoding.color?.legend && room < beside) encoding.color.legend.columns = 1;
  }
}

async function embed(chart, spec) {
  const actions = { export: true, source: false, compiled: false, editor: false };
  const { view } = await vegaEmbed(chart, spec, { mode: "vega-lite", renderer: "svg", actions });
  return view;
}

// Panels of the same kind: as many side by side as fit, and then as wide as the room allows.
async function filling(chart, spec, room) {
  const panel = spec.spec ?? spec;
  let view = await embed(chart, spec);
  if (spec.concat || typeof panel.width !== "number") return view;
  const drawn = () => chart.querySelector("svg").getBoundingClientRect().width;
  let columns = spec.columns ?? 1;
  while (drawn() > room && columns > 1) {
    columns = Math.max(1, Math.min(columns - 1, Math.floor(columns * room / drawn())));
    view.finalize();
    view = await embed(chart, { ...spec, columns });
  }
  const named = spec.facet ? "child_" : "";
  const widened = (wide) => view.signal(named + "width", wide).resize().runAsync();
  const most = Math.floor(room / columns);
  await widened(most);  // without room for axes, so that nothing but the panels decides how much too wide it is
  const wide = Math.max(LEAST_WIDTH, most + Math.floor((room - drawn()) / columns));
  if (spec.bounds === "flush") view.signal(named + "height", Math.max(panel.height, Math.min(TALLEST, Math.round(wide * 0.5))));
  view = await widened(wide);
  const legend = spec.config.legend;
  if (drawn() <= room || legend.columns === 1) return view;
  view.finalize();  // a legend stands beside the labels of the axis, and is as wide as its columns
  return filling(chart, { ...spec, config: { ...spec.config, legend: { ...legend, columns: legend.columns - 1 } } }, room);
}

async function draw(figure) {
  const spec = JSON.parse(figure.querySelector("script").textContent);
  const room = figure.clientWidth - MARGIN;
  spec.config.legend.columns = Math.max(1, Math.min(spec.config.legend.columns, Math.floor(room / LEGEND_ENTRY)));
  if (spec.concat) fit(spec, room);
  const view = await filling(figure.querySelector(".chart"), spec, room);
  views.push(view);
  await apply(view);
  figure.dataset.drawn = "yes";
}

window.whenSeen = (selector, show) => {
  const observer = new IntersectionObserver((entries) => {
    for (const { target } of entries.filter((entry) => entry.isIntersecting)) {
      observer.unobserve(target);
      show(target);
    }
  }, { rootMargin: "400px" });
  document.querySelectorAll(selector).forEach((element) => observer.observe(element));
};

whenSeen("figure[data-figure]", draw);
controls.addEventListener("change", () => views.forEach(apply));
