// A range that is chosen along a vertical axis: by dragging, by its two handles, or by the keys on one of them.

import { svg } from "/static/dom.js";

const GRIP = 7; // pixels
const SMALL = 0.01; // a shorter drag is a click
const STEPS = {
  ArrowUp: 0.02,
  ArrowRight: 0.02,
  ArrowDown: -0.02,
  ArrowLeft: -0.02,
  PageUp: 0.1,
  PageDown: -0.1,
  Home: -1,
  End: 1,
};

export class Brush {
  #axis;
  #frame; // { left, top(place), placeOf(event), low, high } of the picture
  #range = null; // [low, high] in [0, 1]; null: everything
  #hit;
  #mark;
  #grips;

  /** `onChange(range or null)` is called while the brush moves. */
  constructor(axis, frame, onChange) {
    this.#axis = axis;
    this.#frame = frame;
    this.onChange = onChange;
    const { left, top } = frame;
    const [upper, lower] = [top(1), top(0)];
    this.#hit = svg("rect", {
      class: "hit",
      x: left - 16,
      y: upper - 8,
      width: 32,
      height: lower - upper + 16,
    });
    this.#mark = svg("rect", { class: "brush", x: left - 8, width: 16 });
    this.#grips = [this.#makeGrip(true), this.#makeGrip(false)];
    this.#hit.addEventListener("pointerdown", (event) => this.#drawNew(event));
    this.#mark.addEventListener("pointerdown", (event) => this.#shift(event));
    this.nodes = [this.#hit, this.#mark, ...this.#grips];
    this.set(null);
  }

  /** Show a range without telling anybody. */
  set(range) {
    this.#range = range;
    const ends = range ?? [0, 1];
    const [bottom, top] = ends.map(this.#frame.top);
    this.#mark.setAttribute("y", top);
    this.#mark.setAttribute("height", Math.max(bottom - top, 2));
    this.#mark.setAttribute("visibility", range ? "visible" : "hidden");
    this.#grips.forEach((grip, i) => {
      grip.setAttribute("transform", `translate(0 ${i === 0 ? bottom : top})`);
      grip.setAttribute("aria-valuenow", Math.round(100 * ends[i]));
      grip.setAttribute("aria-valuetext", this.#axis.read(ends[i]));
      grip.classList.toggle("is-set", Boolean(range));
    });
  }

  #choose(range) {
    const isWhole = range === null || (range[0] <= 0 && range[1] >= 1);
    this.set(isWhole ? null : range);
    this.onChange(this.#range);
  }

  #makeGrip(isLow) {
    const { left } = this.#frame;
    const grip = svg("path", {
      class: "grip",
      tabindex: 0,
      role: "slider",
      "aria-orientation": "vertical",
      "aria-valuemin": 0,
      "aria-valuemax": 100,
      "aria-label": `${this.#axis.name}, ${isLow ? "lower" : "upper"} end`,
      d: `M${left - GRIP} 0h${2 * GRIP}l-${GRIP} ${isLow ? 9 : -9}z`,
    });
    const moveTo = (place) => {
      const [low, high] = this.#range ?? [0, 1];
      const inside = Math.min(1, Math.max(0, place));
      this.#choose(isLow ? [Math.min(inside, high), high] : [low, Math.max(inside, low)]);
    };
    grip.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#choose(null);
      if (!(event.key in STEPS)) return;
      event.preventDefault();
      moveTo((this.#range ?? [0, 1])[isLow ? 0 : 1] + STEPS[event.key]);
    });
    grip.addEventListener("pointerdown", (event) => {
      event.stopPropagation();
      this.#follow(event, grip, moveTo);
    });
    return grip;
  }

  #drawNew(event) {
    const start = this.#frame.placeOf(event);
    this.#dragOrClear(event, this.#hit, start, (place) => [Math.min(start, place), Math.max(start, place)]);
  }

  #shift(event) {
    const [low, high] = this.#range;
    const start = this.#frame.placeOf(event);
    this.#dragOrClear(event, this.#mark, start, (place) => {
      const way = Math.min(1 - high, Math.max(-low, place - start));
      return [low + way, high + way];
    });
  }

  #dragOrClear(event, target, start, rangeAt) {
    let isMoved = false;
    this.#follow(
      event,
      target,
      (place) => {
        isMoved ||= Math.abs(place - start) > SMALL;
        if (isMoved) this.#choose(rangeAt(place));
      },
      () => !isMoved && this.#choose(null),
    );
  }

  #follow(event, target, onMove, onEnd = () => {}) {
    event.preventDefault();
    target.setPointerCapture(event.pointerId);
    const stop = new AbortController();
    const end = () => {
      stop.abort();
      onEnd();
    };
    target.addEventListener("pointermove", (moved) => onMove(this.#frame.placeOf(moved)), {
      signal: stop.signal,
    });
    target.addEventListener("pointerup", end, { signal: stop.signal });
    target.addEventListener("pointercancel", end, { signal: stop.signal });
  }
}

/** A range in words. */
export const brushWords = (axis, [low, high]) => {
  const [from, to] = axis.ends?.(low, high) ?? [axis.read(low), axis.read(high)];
  return from === to ? `is ${from}` : `${from} to ${to}`;
};
