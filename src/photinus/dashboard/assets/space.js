// Parameters as axes: where a value lies on its own scale, and what is written there.

import { number, valueText } from "/static/format.js";

const MAX_TICKS = 10;
const MAX_WHOLE = 1000;

const bounds = (parameter) =>
  parameter.type === "discrete"
    ? [parameter.values[0], parameter.values.at(-1)]
    : [parameter.low, parameter.high];

const scaled = (value, low, high, scale) => {
  if (low === high) return 0.5;
  if (scale === "linear") return (value / 2 - low / 2) / (high / 2 - low / 2); // halves: the difference may overflow
  const span = Math.log(high) - Math.log(low);
  if (scale === "log") return (Math.log(value) - Math.log(low)) / span;
  return 1 - (Math.log(low + (high - value)) - Math.log(low)) / span;
};

const unscaled = (u, low, high, scale) => {
  if (scale === "linear") return low * (1 - u) + high * u;
  if (scale === "log") return Math.exp(Math.log(low) * (1 - u) + Math.log(high) * u);
  return low + high - Math.exp(Math.log(high) * (1 - u) + Math.log(low) * u);
};

const clamp = (u) => Math.min(1, Math.max(0, u));

/** The first and the last of some values, in words, that lie in a range of places; nothing where none does. */
const endsAmong = (values, place, write) => (low, high) => {
  const inside = values.filter((value) => low - 1e-9 <= place(value) && place(value) <= high + 1e-9);
  return inside.length ? [write(inside[0]), write(inside.at(-1))] : undefined;
};

/**
 * Axis of a parameter: `place(value)` in [0, 1], `read(place)` in words, `ticks` as pairs of place and text. Where
 * values can be counted, `ends(low, high)` has the words of the first and the last between two places.
 */
export const parameterAxis = (parameter) => {
  if (parameter.type === "categorical") {
    const last = Math.max(parameter.values.length - 1, 1);
    const places = new Map(
      parameter.values.map((value, i) => [value, parameter.values.length === 1 ? 0.5 : i / last]),
    );
    const texts = parameter.values.map(valueText);
    const place = (value) => places.get(value) ?? 0;
    return {
      name: parameter.name,
      place,
      ends: endsAmong(parameter.values, place, valueText),
      read: (u) => texts[Math.round(u * (texts.length - 1))],
      ticks: texts.map((text, i) => [places.get(parameter.values[i]), text]).slice(0, 2 * MAX_TICKS),
    };
  }
  const [low, high] = bounds(parameter);
  const place = (value) => clamp(scaled(value, low, high, parameter.scale));
  const read = (u) => number(low === high ? low : unscaled(clamp(u), low, high, parameter.scale));
  const few = parameter.type === "discrete" ? parameter.values : wholeNumbers(parameter);
  const marks = few !== null && few.length <= MAX_TICKS ? few : null;
  const ticks = marks
    ? marks.map((value) => [place(value), number(value)])
    : [0, 0.25, 0.5, 0.75, 1].map((u) => [
        u,
        parameter.type === "int" ? number(Math.round(Number(read(u)))) : read(u),
      ]);
  const ends = few && endsAmong(few, place, (value) => number(value));
  return { name: parameter.name, place, read, ticks, ends };
};

const wholeNumbers = ({ type, low, high }) =>
  type === "int" && high - low < MAX_WHOLE ? Array.from({ length: high - low + 1 }, (_, i) => low + i) : null;

/** Axis of an objective over the values that were measured. */
export const objectiveAxis = (metric, trials) => {
  let [low, high] = [Infinity, -Infinity];
  for (const trial of trials) {
    low = Math.min(low, trial.values[metric.name]);
    high = Math.max(high, trial.values[metric.name]);
  }
  return {
    name: metric.name,
    isObjective: true,
    place: (value) => clamp(scaled(value, low, high, "linear")),
    read: (u) => number(low === high ? low : unscaled(u, low, high, "linear")),
    ticks: (low === high ? [0.5] : [0, 0.5, 1]).map((u) => [
      u,
      number(low === high ? low : unscaled(u, low, high, "linear")),
    ]),
  };
};

/** How many values a parameter can take. */
const numValues = (parameter) =>
  parameter.values ? parameter.values.length : parameter.low === parameter.high ? 1 : Infinity;

export const varying = (problem) => problem.space.parameters.filter((parameter) => numValues(parameter) > 1);

/** The range in words, as a person would write it. */
export const rangeText = (parameter) => {
  if (parameter.type === "categorical" || parameter.type === "discrete")
    return parameter.values.map(valueText).join(", ");
  return `${number(parameter.low)} to ${number(parameter.high)}`;
};

export const scaleText = (parameter) =>
  ({ log: "log", reverse_log: "reverse log" })[parameter.scale] ??
  (parameter.type === "categorical" ? "" : "linear");

/** What a person typed as the value of a parameter; text stays text where it is a choice. */
export const readValue = (parameter, text) => {
  if (parameter.type === "categorical") return parameter.values[Number(text)];
  return readNumber(text);
};

/** A number, or the text itself for the server to refuse in its own words. */
export const readNumber = (text) => {
  const plain = text.trim();
  return plain !== "" && Number.isFinite(Number(plain)) ? Number(plain) : plain;
};
