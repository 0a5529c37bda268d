// Numbers, times and values as people read them.

import { el } from "/static/dom.js";
import { serverNow } from "/static/api.js";

/** Four digits are enough to read; the exact number is in the title, and in the export. */
export const number = (value, digits = 4) => {
  const plain = Number(value);
  if (value === null || value === undefined) return "–";
  if (!Number.isFinite(plain)) return String(value);
  if (Number.isInteger(plain) && Math.abs(plain) < 1e6) return String(plain);
  const size = Math.abs(plain);
  if (size >= 1e6 || size < 1e-4)
    return plain
      .toExponential(digits - 1)
      .replace(/\.?0+e/, "e")
      .replace("e+", "e");
  return String(Number(plain.toPrecision(digits)));
};

/** Numbers beside each other, with as many digits as it takes to tell those apart that differ. */
export const apart = (values) => {
  const different = new Set(values).size;
  for (let digits = 4; digits < 12; digits++) {
    const texts = values.map((value) => number(value, digits));
    if (new Set(texts).size === different) return texts;
  }
  return values.map(String);
};

export const count = (value) => value.toLocaleString("en");

export const many = (value, one, several = `${one}s`) => `${count(value)} ${value === 1 ? one : several}`;

/** A parameter's value in words; text that looks like something else stands in quotes. */
export const valueText = (value) => {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "number") return number(value);
  const text = String(value);
  return /^(|None|True|False|[-+.\d][-+.\de]*)$/.test(text) ? `"${text}"` : text;
};

/** Seconds as people say them. */
export const duration = (seconds) => {
  if (seconds === null || !Number.isFinite(seconds)) return "–";
  if (seconds < 1) return `${Math.max(0, Math.round(seconds * 1000))} ms`;
  if (seconds < 90) return `${number(Number(seconds.toPrecision(3)))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Number((seconds / 3600).toFixed(1))} h`;
  return `${Number((seconds / 86400).toFixed(1))} days`;
};

const CLOCK = { timeStyle: "medium" };
const DAY = { dateStyle: "medium", timeStyle: "short" };
const inWords = (time) => {
  const isToday = time.toDateString() === new Date(serverNow()).toDateString();
  return time.toLocaleString(undefined, isToday ? CLOCK : DAY);
};

const timeElement = (text, time) =>
  el("time", { datetime: text, title: `${text.slice(0, 19).replace("T", " ")} UTC` }, time);

/** The time where the reader is; the title has it in UTC. */
export const localTime = (text) => (text ? timeElement(text, inWords(new Date(text))) : "–");

/** How long ago, by the server's clock. */
export const agoText = (text) => {
  const seconds = (serverNow() - Date.parse(text)) / 1000;
  return seconds < 5 ? "just now" : `${duration(Math.round(seconds))} ago`;
};

export const ago = (text) => (text ? timeElement(text, agoText(text)) : "–");

export const goalWords = (metric) => (metric.goal === "minimize" ? "less is better" : "more is better");

export const durationOf = (trial) =>
  trial.started_at && trial.completed_at
    ? (Date.parse(trial.completed_at) - Date.parse(trial.started_at)) / 1000
    : null;
