// Pictures that the server draws with Plotly. Its script is large, so it is fetched with the first of them.

import { api } from "/static/api.js";
import { el, replace, theirs } from "/static/dom.js";
import { makePlotlyStrict } from "/static/strict.js";
import { isDark, onTheme } from "/static/theme.js";

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";
const LIGHT = { ink: "#2b3440", grid: "#e3e7ec", paper: "#ffffff" };
const DARK = { ink: "#d5dce6", grid: "#313b49", paper: "#1b222c" };
const CLEAR = "rgba(0,0,0,0)";
let loading = null;

const loadPlotly = () => {
  loading ??= new Promise((resolve, reject) => {
    makePlotlyStrict();
    const script = el("script", { src: "/static/plotly.min.js" });
    script.addEventListener("load", () => resolve(window.Plotly));
    script.addEventListener("error", () => {
      loading = null;
      reject(new Error('pictures of the model need plotly on the server: pip install "photinus[plots]"'));
    });
    document.head.append(script);
  });
  return loading;
};

/** The template of a page of ours; the same as photinus.plots has for light and dark pages. */
const template = () => {
  const { ink, grid, paper } = isDark() ? DARK : LIGHT;
  const axis = {
    gridcolor: grid,
    zerolinecolor: grid,
    linecolor: grid,
    tickcolor: grid,
    exponentformat: "e",
    title: { standoff: 8, font: { size: 13 } },
  };
  return {
    layout: {
      font: { family: FONT, size: 12, color: ink },
      paper_bgcolor: CLEAR,
      plot_bgcolor: CLEAR,
      colorway: ["#7f8ea3", "#d9820f", "#4f7cac", "#c2564b"],
      hoverlabel: { font: { family: FONT, color: ink }, bgcolor: paper, bordercolor: grid },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", bgcolor: CLEAR },
      xaxis: { ...axis, automargin: "height" },
      yaxis: { ...axis, automargin: "width" },
      annotationdefaults: { font: { color: ink } },
    },
  };
};

const ENTITIES = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };

/** Captions are made for Plotly, where some characters are escaped; here they are text. */
const plain = (text) =>
  text.replace(/<[^>]*>/g, "").replace(/&(?:lt|gt|amp);/g, (entity) => ENTITIES[entity]);

/** A card with one picture of the server's; `set(query)` draws another one in its place. */
export class ServerPlot {
  #studyId;
  #kind;
  #query = {};
  #figure = null;
  #request = null;
  #isNear = false;
  #isStale = true;
  #title = el("h2");
  #place = el("div", { class: "plot" });
  #caption = el("figcaption");
  #stop = new AbortController();
  #watcher;

  constructor(studyId, kind, { title = null, isBare = false, query = {} } = {}) {
    this.#studyId = studyId;
    this.#kind = kind;
    this.#query = query;
    this.fixedTitle = title;
    this.isBare = isBare;
    this.node = el(
      "figure",
      { class: "card picture", "aria-busy": "true" },
      this.#title,
      this.#place,
      this.#caption,
    );
    if (title) replace(this.#title, theirs(title));
    replace(this.#place, el("div", { class: "skeleton", role: "status" }, "Drawing…"));
    onTheme(() => this.#draw(), this.#stop.signal);
    // Pictures are asked for when they come near the window: each is work for the server.
    this.#watcher = new IntersectionObserver(
      ([entry]) => {
        this.#isNear = entry.isIntersecting;
        if (this.#isNear && this.#isStale) this.#fetch();
      },
      { rootMargin: "300px 0px" },
    );
    this.#watcher.observe(this.node);
  }

  set(query) {
    this.#query = query;
    this.refresh();
  }

  refresh() {
    this.#isStale = true;
    if (this.#isNear) this.#fetch();
  }

  close() {
    this.#stop.abort();
    this.#request?.abort();
    this.#watcher.disconnect();
    if (this.#figure && window.Plotly) window.Plotly.purge(this.#place);
  }

  async #fetch() {
    this.#request?.abort();
    this.#request = new AbortController();
    const { signal } = this.#request;
    this.#isStale = false;
    this.node.setAttribute("aria-busy", "true");
    try {
      const [text] = await Promise.all([
        api.plot(this.#studyId, this.#kind, this.#query, signal),
        loadPlotly(),
      ]);
      if (signal.aborted || this.#stop.signal.aborted) return;
      this.#figure = JSON.parse(text);
      this.#draw();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#fail(error.message);
    }
    this.node.removeAttribute("aria-busy");
  }

  #fail(message) {
    this.#figure = null;
    if (window.Plotly) window.Plotly.purge(this.#place);
    const again = el("button", { type: "button", on: { click: () => this.#fetch() } }, "Try again");
    replace(this.#place, el("div", { class: "empty" }, el("p", {}, theirs(message)), again));
    replace(this.#caption);
  }

  #draw() {
    if (this.#figure === null) return;
    const { data, layout } = structuredClone(this.#figure);
    const heading = layout.title ?? {};
    if (!this.fixedTitle) replace(this.#title, theirs(plain(heading.text ?? "")));
    replace(this.#caption, this.isBare ? "" : theirs(plain(heading.subtitle?.text ?? "")));
    if (data.length === 0) {
      window.Plotly.purge(this.#place);
      replace(
        this.#place,
        el("p", { class: "empty" }, theirs(plain(layout.annotations?.[0]?.text ?? "Nothing to see yet."))),
      );
      return;
    }
    if (!this.#place.classList.contains("js-plotly-plot")) replace(this.#place);
    const height = (layout.height ?? 380) - (this.isBare ? 90 : 50);
    this.#place.style.height = `${height}px`;
    this.#place.setAttribute("role", "img");
    this.#place.setAttribute("aria-label", `${this.#title.textContent}. ${this.#caption.textContent}`);
    window.Plotly.react(this.#place, data, pageLayout(layout, data, height, this.isBare), {
      displayModeBar: false,
      responsive: true,
      showTips: false,
    }).then(() => {
      this.#place.dataset.drawn = "yes";
    });
  }
}

const pageLayout = (layout, data, height, isBare) => {
  const isNarrow = matchMedia("(max-width: 640px)").matches;
  const hasLegend =
    !isBare && layout.showlegend !== false && data.filter((trace) => trace.showlegend !== false).length > 1;
  const hasTitles = (layout.annotations ?? []).some((note) => note.yref === "paper" && note.y >= 1);
  const rest = { ...layout };
  delete rest.title;
  return {
    ...rest,
    ...(isBare ? { showlegend: false } : {}),
    ...(isNarrow ? { font: { size: 10.5 } } : {}),
    template: template(),
    margin: { l: isNarrow ? 44 : 56, r: 12, t: hasLegend || hasTitles ? 36 : 10, b: 40 },
    height,
    autosize: true,
    // A finger that moves over a picture scrolls the page.
    ...(matchMedia("(pointer: coarse)").matches ? { dragmode: false } : {}),
  };
};
