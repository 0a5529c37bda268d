// Parallel coordinates: lines on a canvas, axes and brushes as SVG above it.

import { Brush } from "/static/brush.js";
import { shade } from "/static/colours.js";
import { colour, el, onWidth, replace, svg } from "/static/dom.js";
import { thinned } from "/static/goals.js";

const HEIGHT = 400; // as in the style sheet
const MARGIN = { top: 46, bottom: 24, left: 44, right: 60 };
const NARROWEST = 74; // pixels between two axes; where they do not fit, the picture scrolls in its frame
const MAX_LINES = 2500;
const CROWD = 300;
const LETTER = 7.4; // pixels

const cut = (text, limit) => (text.length > limit ? `${text.slice(0, limit - 1)}…` : text);

/**
 * `axes`: name, place(trial) in [0, 1] or null, read(place), ticks. `onBrush(axis, range or null)` is called while a
 * brush moves; `set` draws trials, with what is not in `chosen` in the background.
 */
export class ParallelPlot {
  #axes = [];
  #brushes = new Map(); // by the name of the axis
  #ranges = new Map();
  #trials = [];
  #chosen = new Set();
  #shares = new Map();
  #canvas = el("canvas");
  #layer = svg("svg", {
    role: "group",
    "aria-label": "Axes; every one has two handles that the arrow keys move",
  });
  #inner = el("div", { class: "parallel-inner" }, this.#canvas, this.#layer);
  #width = 0;

  constructor(onBrush) {
    this.onBrush = onBrush;
    this.node = el("div", { class: "parallel" }, this.#inner);
    onWidth(this.node, () => this.#layOut());
  }

  setAxes(axes, ranges) {
    this.#axes = axes;
    this.#ranges = new Map(ranges);
    this.#layOut();
  }

  /** `shares` maps trial numbers to [0, 1], 1 being best. */
  set(trials, chosen, shares) {
    this.#trials = trials;
    this.#chosen = chosen;
    this.#shares = shares;
    this.paint();
  }

  clear() {
    this.#ranges.clear();
    this.#brushes.forEach((brush) => brush.set(null));
  }

  get #gap() {
    return (this.#width - MARGIN.left - MARGIN.right) / Math.max(this.#axes.length - 1, 1);
  }

  #left(i) {
    return MARGIN.left + i * this.#gap;
  }

  #top(place) {
    return MARGIN.top + (1 - place) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  }

  #placeOf(event) {
    const top = event.clientY - this.#layer.getBoundingClientRect().top;
    return Math.min(1, Math.max(0, 1 - (top - MARGIN.top) / (HEIGHT - MARGIN.top - MARGIN.bottom)));
  }

  #layOut() {
    if (!this.node.clientWidth || !this.#axes.length) return;
    const least = MARGIN.left + MARGIN.right + NARROWEST * (this.#axes.length - 1);
    this.#width = Math.max(this.node.clientWidth, least);
    this.#inner.style.width = `${this.#width}px`;
    this.#layer.setAttribute("width", this.#width);
    this.#layer.setAttribute("height", HEIGHT);
    const ratio = window.devicePixelRatio || 1;
    this.#canvas.width = this.#width * ratio;
    this.#canvas.height = HEIGHT * ratio;
    this.#canvas.style.width = `${this.#width}px`;
    this.#canvas.style.height = `${HEIGHT}px`;
    this.#brushes.clear();
    replace(
      this.#layer,
      this.#axes.map((axis, i) => this.#drawAxis(axis, i)),
    );
    this.paint();
  }

  #drawAxis(axis, i) {
    const left = this.#left(i);
    const room = Math.max(8, Math.floor(this.#gap / LETTER));
    const anchor = i === 0 ? "start" : i === this.#axes.length - 1 ? "end" : "middle"; // names stay inside
    const limit = Math.max(4, Math.floor(room * (anchor === "middle" ? 0.85 : 0.5)));
    const shift = { start: -16, middle: 0, end: 40 }[anchor];
    const frame = { left, top: (place) => this.#top(place), placeOf: (event) => this.#placeOf(event) };
    const brush = new Brush(axis, frame, (range) => {
      if (range === null) this.#ranges.delete(axis.name);
      else this.#ranges.set(axis.name, range);
      this.onBrush(axis, range);
    });
    brush.set(this.#ranges.get(axis.name) ?? null);
    this.#brushes.set(axis.name, brush);
    return svg(
      "g",
      { class: axis.isObjective ? "axis objective" : "axis" },
      svg("line", { class: "base", x1: left, x2: left, y1: this.#top(0), y2: this.#top(1) }),
      axis.ticks.map(([place, text]) =>
        svg("text", { class: "tick", x: left + 11, y: this.#top(place) + 4 }, cut(text, room)),
      ),
      svg(
        "text",
        { class: "axis", x: left + shift, y: 18, "text-anchor": anchor },
        svg("title", {}, axis.name),
        cut(axis.name, limit),
      ),
      brush.nodes,
    );
  }

  paint() {
    if (!this.#width) return;
    const pen = this.#canvas.getContext("2d");
    const ratio = window.devicePixelRatio || 1;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, this.#width, HEIGHT);
    const isChosen = (trial) => this.#chosen.has(trial.number);
    const front = thinned(this.#trials.filter(isChosen), MAX_LINES);
    const behind = thinned(
      this.#trials.filter((trial) => !isChosen(trial)),
      MAX_LINES,
    );
    const ink = colour("line");
    pen.lineWidth = 0.8;
    for (const trial of behind) this.#stroke(pen, trial, ink, 0.6);
    // The best last, because what is drawn later lies on top; and in a crowd only the best are drawn at full strength.
    const isCrowded = front.length > CROWD;
    pen.lineWidth = isCrowded ? 0.9 : 1.6;
    const rows = front.map((trial) => [this.#shares.get(trial.number), trial]).sort(([a], [b]) => a - b);
    for (const [share, trial] of rows) {
      this.#stroke(pen, trial, shade(share), isCrowded ? 0.05 + 0.85 * share ** 24 : 0.45 + 0.5 * share);
    }
    pen.globalAlpha = 1;
  }

  #stroke(pen, trial, ink, opacity) {
    pen.strokeStyle = ink;
    pen.globalAlpha = opacity;
    pen.beginPath();
    this.#axes.forEach((axis, i) => pen.lineTo(this.#left(i), this.#top(axis.place(trial) ?? 0)));
    pen.stroke();
  }
}
