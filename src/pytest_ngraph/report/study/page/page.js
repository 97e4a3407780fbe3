// Draws each figure when it comes near the window, and passes the reader's choices to all that are drawn.
const views = [];
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

async function draw(figure) {
  const spec = JSON.parse(figure.querySelector("script").textContent);
  if (spec.concat) fit(spec, figure.clientWidth);
  const actions = { export: true, source: false, compiled: false, editor: false };
  const { view } = await vegaEmbed(figure.querySelector(".chart"), spec, { mode: "vega-lite", renderer: "svg", actions });
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
