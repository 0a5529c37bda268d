"use strict";
// Figures are drawn when they come near the window: a page with fifty of them opens as fast as one with five.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const figures = read("figures");
  const templates = read("templates");
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const isNarrow = matchMedia("(max-width: 640px)");
  const isTouch = matchMedia("(pointer: coarse)");
  const drawn = new Set();

  const layoutOf = (figure, place) => {
    const layout = structuredClone(figure.layout);
    layout.template = isDark.matches ? templates.dark : templates.light;
    const hasLegend = layout.showlegend !== false && figure.data.filter((t) => t.showlegend !== false).length > 1;
    const hasTitles = (layout.annotations || []).some((a) => a.yref === "paper" && a.y >= 1);
    layout.margin = { l: isNarrow.matches ? 44 : 56, r: 12, t: hasLegend || hasTitles ? 36 : 10, b: 40 };
    layout.height = place.clientHeight;
    layout.autosize = true;
    if (isTouch.matches) layout.dragmode = false; // a finger that moves over a picture scrolls the page
    if (isNarrow.matches) layout.font = { size: 10.5 };
    return layout;
  };

  const draw = (place) => {
    const figure = figures[place.id];
    const settings = { displayModeBar: false, responsive: true, showTips: false };
    Plotly.react(place, structuredClone(figure.data), layoutOf(figure, place), settings).then(() => {
      place.dataset.drawn = "yes";
    });
    drawn.add(place);
  };

  const places = Array.from(document.querySelectorAll(".plot"));
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting && !drawn.has(entry.target)) draw(entry.target);
      }
    },
    { rootMargin: "800px 0px" },
  );
  places.forEach((place) => watcher.observe(place));

  const redraw = () => drawn.forEach(draw);
  isDark.addEventListener("change", redraw);
  isNarrow.addEventListener("change", redraw);
  window.addEventListener("beforeprint", () => places.filter((place) => !drawn.has(place)).forEach(draw));
})();
