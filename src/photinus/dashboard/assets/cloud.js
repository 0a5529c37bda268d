// Trials in three dimensions: a canvas that turns by dragging or by the arrow keys, without WebGL.

import { colour, el, onWidth } from "/static/dom.js";
import { hideTip, showTip, trialTip } from "/static/tooltip.js";

const HEIGHT = 460;
const REACH = 14;
const KEY_TURN = 0.12;
const CORNERS = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => [i & 1, (i >> 1) & 1, (i >> 2) & 1]);
const EDGES = CORNERS.flatMap((a, i) =>
  CORNERS.flatMap((b, j) => (j > i && a.filter((c, k) => c !== b[k]).length === 1 ? [[i, j]] : [])),
);

/** `set(points, axes)`: points are { at: three places in [0, 1], trial, isFront }, axes three { name, low, high }. */
export class Cloud {
  #points = [];
  #axes = [];
  #spots = []; // where the points are on the canvas
  #turn = { yaw: -0.7, pitch: 0.42 };
  #canvas;
  #last = null;

  constructor(onOpen) {
    this.onOpen = onOpen;
    this.#canvas = el("canvas", {
      tabindex: 0,
      role: "application",
      "aria-roledescription": "three-dimensional chart",
      "aria-label": "Trials by three objectives. Arrow keys turn the picture.",
    });
    this.node = el("div", { class: "cloud" }, this.#canvas);
    const { style } = this.#canvas;
    style.height = `${HEIGHT}px`;
    onWidth(this.node, () => this.draw());
    this.#canvas.addEventListener("pointerdown", (event) => this.#grab(event));
    this.#canvas.addEventListener("pointermove", (event) => this.#move(event));
    this.#canvas.addEventListener("pointerup", (event) => this.#let(event));
    this.#canvas.addEventListener("pointerleave", hideTip);
    this.#canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  set(points, axes) {
    this.#points = points;
    this.#axes = axes;
    this.#canvas.setAttribute(
      "aria-label",
      `${points.length} trials by ${axes.map((axis) => axis.name).join(", ")}. Arrow keys turn the picture.`,
    );
    this.draw();
  }

  /** A point of the unit cube on the canvas, and how near it is. */
  #project([x, y, z]) {
    const { yaw, pitch } = this.#turn;
    const [a, b, c] = [x - 0.5, y - 0.5, z - 0.5];
    const across = a * Math.cos(yaw) + b * Math.sin(yaw);
    const depth = -a * Math.sin(yaw) + b * Math.cos(yaw);
    const up = c * Math.cos(pitch) - depth * Math.sin(pitch);
    const near = -(c * Math.sin(pitch) + depth * Math.cos(pitch));
    const size = Math.min(0.5 * this.node.clientWidth, 0.58 * HEIGHT);
    return { left: this.node.clientWidth / 2 + across * size, top: HEIGHT / 2 - up * size, near };
  }

  draw() {
    const width = this.node.clientWidth;
    if (!width || this.#axes.length !== 3) return;
    const ratio = window.devicePixelRatio || 1;
    this.#canvas.width = width * ratio;
    this.#canvas.height = HEIGHT * ratio;
    const pen = this.#canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const ink = {
      line: colour("line"),
      soft: colour("soft"),
      quiet: colour("quiet"),
      best: colour("best"),
      card: colour("card"),
      text: colour("ink"),
    };
    this.#drawBox(pen, ink);
    this.#spots = this.#points
      .map((point) => ({ ...this.#project(point.at), point }))
      .sort((a, b) => a.near - b.near);
    for (const { left, top, near, point } of this.#spots) {
      pen.globalAlpha = point.isFront ? 1 : 0.55;
      pen.fillStyle = point.isFront ? ink.best : ink.quiet;
      pen.strokeStyle = ink.card;
      pen.beginPath();
      pen.arc(left, top, (point.isFront ? 5 : 3.4) * (1 + 0.35 * near), 0, 2 * Math.PI);
      pen.fill();
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  #drawBox(pen, ink) {
    const corners = CORNERS.map((corner) => this.#project(corner));
    pen.strokeStyle = ink.line;
    pen.lineWidth = 1;
    for (const [i, j] of EDGES) {
      pen.beginPath();
      pen.moveTo(corners[i].left, corners[i].top);
      pen.lineTo(corners[j].left, corners[j].top);
      pen.stroke();
    }
    pen.font = "12px system-ui, sans-serif";
    // Names stand at the edges that leave the lowest corner, so that they never lie over the trials.
    const centre = { left: this.node.clientWidth / 2, top: HEIGHT / 2 };
    this.#axes.forEach((axis, k) => {
      const edges = EDGES.filter(([i, j]) => CORNERS[i][k] !== CORNERS[j][k]);
      const far = ([i, j]) => {
        const [left, top] = [(corners[i].left + corners[j].left) / 2, (corners[i].top + corners[j].top) / 2];
        return k === 2 ? centre.left - left : top - centre.top;
      };
      const [i, j] = edges.reduce((best, edge) => (far(edge) > far(best) ? edge : best));
      const [from, to] = CORNERS[i][k] === 0 ? [corners[i], corners[j]] : [corners[j], corners[i]];
      const [left, top] = [(from.left + to.left) / 2, (from.top + to.top) / 2];
      const [dx, dy] = k === 2 ? [-10, 0] : [left < centre.left ? -8 : 8, 20];
      pen.textAlign = k === 2 || left < centre.left ? "right" : "left";
      pen.fillStyle = ink.text;
      this.#write(pen, axis.name.length > 22 ? `${axis.name.slice(0, 21)}…` : axis.name, left + dx, top + dy);
      pen.fillStyle = ink.soft;
      this.#write(pen, axis.low, from.left + dx, from.top + dy * 0.8);
      this.#write(pen, axis.high, to.left + dx, to.top + dy * 0.8);
    });
  }

  /** Text that stays on the canvas. */
  #write(pen, text, left, top) {
    const { width } = pen.measureText(text);
    const [low, high] =
      pen.textAlign === "right" ? [width, this.node.clientWidth] : [0, this.node.clientWidth - width];
    pen.fillText(text, Math.min(Math.max(left, low + 2), high - 2), top);
  }

  #grab(event) {
    this.#canvas.setPointerCapture(event.pointerId);
    this.#last = { x: event.clientX, y: event.clientY, path: 0 };
    hideTip();
  }

  #move(event) {
    if (this.#last === null) {
      const spot = this.#find(event);
      this.#canvas.classList.toggle("can-open", Boolean(spot));
      if (spot) showTip(trialTip(spot.point.trial), event.clientX, event.clientY);
      else hideTip();
      return;
    }
    const [dx, dy] = [event.clientX - this.#last.x, event.clientY - this.#last.y];
    this.#last = { x: event.clientX, y: event.clientY, path: this.#last.path + Math.hypot(dx, dy) };
    this.#rotate(dx * 0.008, dy * 0.008);
  }

  #let(event) {
    const isClick = this.#last !== null && this.#last.path < 4;
    this.#last = null;
    const spot = isClick ? this.#find(event) : null;
    if (spot) this.onOpen(spot.point.trial);
  }

  #find(event) {
    const frame = this.#canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    // The nearest to the eye of those under the pointer.
    return this.#spots.findLast((spot) => Math.hypot(spot.left - x, spot.top - y) < REACH) ?? null;
  }

  #rotate(yaw, pitch) {
    this.#turn = {
      yaw: this.#turn.yaw - yaw,
      pitch: Math.min(1.5, Math.max(-1.5, this.#turn.pitch + pitch)),
    };
    this.draw();
  }

  #key(event) {
    const turn = {
      ArrowLeft: [-KEY_TURN, 0],
      ArrowRight: [KEY_TURN, 0],
      ArrowUp: [0, -KEY_TURN],
      ArrowDown: [0, KEY_TURN],
    }[event.key];
    if (!turn) return;
    event.preventDefault();
    this.#rotate(...turn);
  }
}
