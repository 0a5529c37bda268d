// Dots and lines over two axes, as SVG. Dots say who they are when pointed at, and by the arrow keys.

import { el, onWidth, replace, svg } from "/static/dom.js";
import { hideTip, showTip } from "/static/tooltip.js";
import { makeScale, wantsLog } from "/static/ticks.js";

const MARGIN = { left: 58, right: 14, top: 10, bottom: 40 };
const REACH = 28; // pixels from which a dot is found

/**
 * A chart in a focusable frame.
 *
 * Series: { kind: "dots" | "line" | "edge", points: [{ x, y, tip, open }], style: name of a class, isStep }.
 * Points on the "edge" have no y: they stand on the lower edge. `tip()` makes the content of the tooltip. `xAxis` is
 * the axis of a parameter; without one, x is a number on a scale of its own.
 */
export class Chart {
  #options = { series: [], xLabel: "", yLabel: "" };
  #dots = []; // { point, left, top } of what can be pointed at, by x
  #at = -1;
  #ring = svg("circle", { class: "ring", r: 8, visibility: "hidden" });

  constructor({ label, height = 300 }) {
    this.height = height;
    this.node = el("div", {
      class: "chart",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "chart",
      "aria-label": label,
    });
    this.node.style.height = `${height}px`;
    this.node.addEventListener("pointermove", (event) => this.#point(event));
    this.node.addEventListener("pointerleave", () => this.#leave());
    this.node.addEventListener("blur", () => this.#leave());
    this.node.addEventListener("click", (event) => {
      if (this.#point(event)) this.#dots[this.#at].point.open?.();
    });
    this.node.addEventListener("keydown", (event) => this.#key(event));
    onWidth(this.node, () => this.#draw());
  }

  set(options) {
    this.#options = options;
    if (options.label) this.node.setAttribute("aria-label", options.label);
    if (this.node.clientWidth) this.#draw();
  }

  #draw() {
    const { series, xLabel, yLabel, isWholeX = false, xAxis = null } = this.#options;
    const width = this.node.clientWidth;
    const all = series.flatMap((one) => one.points);
    const inside = {
      width: Math.max(width - MARGIN.left - MARGIN.right, 40),
      height: this.height - MARGIN.top - MARGIN.bottom,
    };
    const numTicks = Math.max(2, Math.min(8, Math.floor(inside.width / 64)));
    const x = xAxis
      ? given(xAxis)
      : scaleOver(
          all.map((point) => point.x),
          { numTicks, isWhole: isWholeX, mayLog: !isWholeX, pad: 0.02 },
        );
    const heights = all.map((point) => point.y).filter((value) => value !== undefined);
    const y = scaleOver(heights, { numTicks: 5, mayLog: true });
    if (!heights.length) y.ticks = []; // nothing was measured: no numbers to read
    const leftOf = (value) => MARGIN.left + x.place(value) * inside.width;
    const topOf = (value) => MARGIN.top + (1 - y.place(value)) * inside.height;
    const bottom = MARGIN.top + inside.height;
    this.#dots = [];
    const marks = series.map((one) => this.#drawSeries(one, leftOf, topOf, bottom));
    this.#dots.sort((a, b) => a.left - b.left);
    replace(
      this.node,
      svg(
        "svg",
        { width, height: this.height, "aria-hidden": "true" },
        y.ticks.map(({ place, text }) => {
          const top = MARGIN.top + (1 - place) * inside.height;
          return [
            svg("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: top, y2: top }),
            svg("text", { class: "tick", x: MARGIN.left - 8, y: top + 4, "text-anchor": "end" }, text),
          ];
        }),
        x.ticks.map(({ place, text }) =>
          svg(
            "text",
            { class: "tick", x: MARGIN.left + place * inside.width, y: bottom + 18, "text-anchor": "middle" },
            shorten(text, inside.width / x.ticks.length),
          ),
        ),
        svg("line", { class: "base", x1: MARGIN.left, x2: width - MARGIN.right, y1: bottom, y2: bottom }),
        svg(
          "text",
          { class: "axis", x: MARGIN.left + inside.width / 2, y: this.height - 4, "text-anchor": "middle" },
          shorten(xLabel, inside.width),
        ),
        svg(
          "text",
          {
            class: "axis",
            transform: `translate(12 ${MARGIN.top + inside.height / 2}) rotate(-90)`,
            "text-anchor": "middle",
          },
          shorten(yLabel, inside.height),
        ),
        marks,
        this.#ring,
      ),
    );
    this.#ring.setAttribute("visibility", "hidden");
  }

  #drawSeries({ kind, points, style, isStep }, leftOf, topOf, bottom) {
    if (kind === "line") {
      let path = "";
      points.forEach(({ x, y }, i) => {
        const [left, top] = [leftOf(x).toFixed(1), topOf(y).toFixed(1)];
        path += i === 0 ? `M${left} ${top}` : isStep ? `H${left}V${top}` : `L${left} ${top}`;
      });
      return svg("path", { class: `line ${style}`, d: path });
    }
    const size = points.length > 300 ? 2.2 : 3.6;
    return points.map((point) => {
      const [left, top] = [leftOf(point.x), kind === "edge" ? bottom - 6 : topOf(point.y)];
      this.#dots.push({ point, left, top });
      if (kind === "edge")
        return svg("path", { class: `cross ${style}`, d: `M${left - 3} ${top - 3}l6 6m0 -6l-6 6` });
      return svg("circle", {
        class: `dot ${style}`,
        cx: left.toFixed(1),
        cy: top.toFixed(1),
        r: point.isBig ? 5.5 : size,
        "fill-opacity": point.opacity ?? 0.8,
      });
    });
  }

  #point(event) {
    const frame = this.node.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    let [nearest, distance] = [-1, REACH];
    this.#dots.forEach((dot, i) => {
      const d = Math.hypot(dot.left - x, dot.top - y);
      if (d < distance) [nearest, distance] = [i, d];
    });
    if (nearest < 0) this.#leave();
    else this.#show(nearest);
    return nearest >= 0;
  }

  #show(index) {
    this.#at = index;
    const { point, left, top } = this.#dots[index];
    this.#ring.setAttribute("cx", left);
    this.#ring.setAttribute("cy", top);
    this.#ring.setAttribute("visibility", "visible");
    this.node.classList.toggle("can-open", Boolean(point.open));
    const frame = this.node.getBoundingClientRect();
    if (point.tip) showTip(point.tip(), frame.left + left, frame.top + top);
  }

  #leave() {
    this.#ring.setAttribute("visibility", "hidden");
    this.node.classList.remove("can-open");
    hideTip();
  }

  #key(event) {
    const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
    if (event.key === "Enter" && this.#dots[this.#at]) this.#dots[this.#at].point.open?.();
    else if (event.key === "Escape") this.#leave();
    else if (event.key in steps && this.#dots.length) {
      event.preventDefault();
      this.#show(Math.min(this.#dots.length - 1, Math.max(0, this.#at + steps[event.key])));
    }
  }
}

/** A parameter's own axis, with a little room at its ends. */
const given = (axis) => {
  const place = (u) => 0.04 + 0.92 * u;
  return {
    place: (value) => place(axis.place(value)),
    ticks: axis.ticks.map(([u, text]) => ({ place: place(u), text })),
  };
};

const scaleOver = (values, { mayLog, ...options }) => {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return makeScale(low, high, { ...options, isLog: mayLog && wantsLog(low, high) });
};

/** A user's name on an axis, cut to the room that is there. */
const shorten = (text, room) => {
  const limit = Math.max(3, Math.floor(room / 7.2));
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text;
};
