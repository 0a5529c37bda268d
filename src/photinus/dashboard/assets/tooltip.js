// The one box that says what the pointer or the keyboard is at.

import { el, replace, theirs } from "/static/dom.js";
import { number, valueText } from "/static/format.js";

const MAX_PARAMS = 8;
let box = null;

export const showTip = (content, x, y) => {
  box ??= el("div", { class: "tip", role: "status" });
  document.body.append(box);
  replace(box, content);
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  const left = Math.min(Math.max(8, x + 14), document.documentElement.clientWidth - width - 8);
  const top = y + 16 + height > window.innerHeight - 8 ? y - height - 12 : y + 16;
  box.style.transform = `translate(${Math.max(8, left)}px, ${Math.max(8, top)}px)`;
};

export const hideTip = () => {
  if (box) box.hidden = true;
};

/** What a trial says when it is pointed at. */
export const trialTip = (trial) => {
  const rows = Object.entries(trial.values ?? {}).map(([name, value]) => [name, number(value), "strong"]);
  if (!trial.values) rows.push([trial.state, trial.message ?? "", "strong"]);
  const params = Object.entries(trial.params);
  rows.push(...params.slice(0, MAX_PARAMS).map(([name, value]) => [name, valueText(value), "span"]));
  return [
    el("b", {}, `trial ${trial.number}`),
    el(
      "dl",
      {},
      rows.map(([name, text, kind]) => [
        el("dt", {}, theirs(name)),
        el("dd", {}, el(kind, {}, theirs(text))),
      ]),
    ),
    params.length > MAX_PARAMS && el("p", {}, `and ${params.length - MAX_PARAMS} more`),
  ];
};
