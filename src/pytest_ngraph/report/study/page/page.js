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

async function draw(figure) {
  const spec = JSON.parse(figure.querySelector("script").textContent);
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
