// Round numbers on an axis.

import { number } from "/static/format.js";

const WIDE_RANGE = 1000; // a larger ratio of positive values is drawn on a logarithmic axis

/** A scale over [low, high]: `place(value)` in [0, 1] and its ticks. */
export const makeScale = (low, high, { isLog = false, numTicks = 5, isWhole = false, pad = 0.05 } = {}) => {
  if (!(low <= high)) [low, high] = [0, 1];
  return isLog ? logScale(low, high, numTicks) : linearScale(low, high, numTicks, isWhole, pad);
};

/** Whether values are positive and span so much that only powers of ten show them. */
export const wantsLog = (low, high) => low > 0 && high / WIDE_RANGE > low;

const linearScale = (low, high, numTicks, isWhole, pad) => {
  if (low === high && isWhole) high = low + 1;
  else if (low === high) {
    const half = Math.abs(low) / 10 || 1;
    [low, high] = [low - half, high + half];
  }
  const margin = pad * (high / 2 - low / 2) * 2;
  const [from, to] = [low - margin, high + margin];
  const half = to / 2 - from / 2;
  const place = (value) => (value / 2 - from / 2) / half;
  const step = roundStep((high - low) / numTicks, isWhole);
  const ticks = [];
  for (let i = Math.ceil(from / step); Number.isFinite(step) && i * step <= to && ticks.length < 20; i++) {
    const value = Number((i * step).toPrecision(12));
    ticks.push({ place: place(value), text: number(value) });
  }
  return { place, ticks };
};

const roundStep = (rough, isWhole) => {
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  return isWhole ? Math.max(1, Math.round(step)) : step;
};

const logScale = (low, high, numTicks) => {
  const [from, to] = [Math.log10(low), Math.log10(high)];
  const margin = 0.05 * (to - from || 1);
  const place = (value) => (Math.log10(value) - from + margin) / (to - from + 2 * margin);
  const step = Math.max(1, Math.ceil((to - from) / numTicks));
  const ticks = [];
  for (let power = Math.ceil(from - margin); power <= to + margin; power += step) {
    ticks.push({ place: place(10 ** power), text: number(10 ** power) });
  }
  return { place, ticks };
};
