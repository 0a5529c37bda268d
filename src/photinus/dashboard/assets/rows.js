// Rows of the form for a new study: one parameter, one objective.

import { el } from "/static/dom.js";
import { choice, field, textInput } from "/static/forms.js";
import { readNumber } from "/static/space.js";

const TYPES = [
  ["float", "float"],
  ["int", "int"],
  ["discrete", "discrete"],
  ["categorical", "categorical"],
];
const SCALES = [
  ["linear", "linear"],
  ["log", "log"],
  ["reverse_log", "reverse log"],
];
const GOALS = [
  ["minimize", "minimize"],
  ["maximize", "maximize"],
];

const WORDS = new Map([
  ["None", null],
  ["True", true],
  ["False", false],
]);

const removeButton = (onRemove, what) =>
  el(
    "button",
    {
      type: "button",
      class: "ghost icon remove",
      "aria-label": `Remove this ${what}`,
      title: `Remove this ${what}`,
      on: { click: onRemove },
    },
    "✕",
  );

/** A choice as typed: JSON words and numbers are what they look like, quotes make text of anything. */
const readChoice = (text) => {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null ? text : value;
  } catch {
    return WORDS.has(text) ? WORDS.get(text) : text;
  }
};

/** Values between commas; commas inside quotes belong to the text. */
export const splitChoices = (text) =>
  (text.match(/\s*("(?:[^"\\]|\\.)*"|[^,]+)\s*(?=,|$)/g) ?? [])
    .map((part) => part.trim())
    .filter((part) => part !== "");

const need = (one, text = "This is needed.") => {
  if (one.input.value.trim() !== "") return true;
  one.fail(text);
  return false;
};

const needNumber = (one) => {
  if (!need(one)) return false;
  if (typeof readNumber(one.input.value) === "number") return true;
  one.fail("This must be a number, such as 0.1 or 1e-5.");
  return false;
};

const needNumbers = (one, found) => {
  if (found.every((value) => typeof value === "number")) return true;
  one.fail("These must be numbers, with commas between them.");
  return false;
};

export const parameterRow = (onRemove) => {
  const name = field("Name", textInput({ placeholder: "lr" }));
  const type = field("Type", choice(TYPES, "float"));
  const low = field("Low", textInput({ inputmode: "decimal", placeholder: "0.00001" }));
  const high = field("High", textInput({ inputmode: "decimal", placeholder: "0.1" }));
  const scale = field("Scale", choice(SCALES, "linear"));
  const values = field("Values", textInput({ placeholder: "16, 32, 64" }));
  const all = [name, type, low, high, scale, values];
  const node = el(
    "div",
    { class: "row", role: "group", "aria-label": "Parameter" },
    all.map((one) => one.node),
    removeButton(onRemove, "parameter"),
  );
  const hasRange = () => type.input.value === "float" || type.input.value === "int";
  const arrange = () => {
    low.node.hidden = high.node.hidden = !hasRange();
    values.node.hidden = hasRange();
    scale.node.hidden = type.input.value === "categorical";
    values.input.placeholder = type.input.value === "categorical" ? "adam, sgd, None" : "16, 32, 64";
  };
  type.input.addEventListener("change", arrange);
  arrange();
  const members = () =>
    splitChoices(values.input.value).map(type.input.value === "categorical" ? readChoice : readNumber);

  const read = () => {
    const kind = type.input.value;
    const stored = { name: name.input.value, type: kind, children: [] };
    if (hasRange())
      Object.assign(stored, { low: readNumber(low.input.value), high: readNumber(high.input.value) });
    else stored.values = members();
    return kind === "categorical" ? stored : { ...stored, scale: scale.input.value };
  };
  const isReady = () => {
    const checks = [need(name)];
    if (hasRange()) checks.push(needNumber(low), needNumber(high));
    else if (need(values, "Values, with commas between them.") && type.input.value === "discrete")
      checks.push(needNumbers(values, members()));
    else checks.push(values.input.value.trim() !== "");
    return !checks.includes(false);
  };
  /** Whether a message about bounds shows this row's. */
  const fits = (message) => {
    const { low: bottom, high: top, values: list } = read();
    const shows = (word, value) =>
      [...message.matchAll(new RegExp(`${word}=(\\S+?)(?:,|:|\\s|$)`, "g"))].some(
        (match) => Number(match[1]) === value,
      );
    if (list) return typeof list[0] !== "object" && message.includes(String(list[0]));
    return shows("low", bottom) || shows("high", top);
  };
  return {
    node,
    read,
    isReady,
    fits,
    name: () => name.input.value,
    focus: () => name.input.focus(),
    clear: () => all.forEach((one) => one.fail(null)),
    fail: (message) => {
      const about =
        /`?scale`?/.test(message) && /must be one of/.test(message)
          ? scale
          : /name/.test(message)
            ? name
            : hasRange()
              ? low
              : values;
      about.fail(message);
    },
  };
};

export const objectiveRow = (onRemove) => {
  const name = field("Name", textInput({ placeholder: "error" }));
  const goal = field("Goal", choice(GOALS, "minimize"));
  const node = el(
    "div",
    { class: "row", role: "group", "aria-label": "Objective" },
    name.node,
    goal.node,
    removeButton(onRemove, "objective"),
  );
  return {
    node,
    read: () => ({ name: name.input.value, goal: goal.input.value }),
    isReady: () => need(name),
    name: () => name.input.value,
    focus: () => name.input.focus(),
    clear: () => name.fail(null),
    fail: (message) => name.fail(message),
  };
};
