// Forms for one trial: adding one by hand, telling a result, correcting one.

import { api } from "/static/api.js";
import { openDialog, toast } from "/static/dialogs.js";
import { el, theirs } from "/static/dom.js";
import { busy, choice, field, formError, textInput } from "/static/forms.js";
import { goalWords, valueText } from "/static/format.js";
import { rangeText, readNumber, readValue } from "/static/space.js";

const paramField = (parameter, params) => {
  const old = params?.[parameter.name];
  const input =
    parameter.type === "categorical"
      ? choice(
          parameter.values.map((value, i) => [i, valueText(value)]),
          String(Math.max(0, parameter.values.indexOf(old))),
        )
      : textInput({ inputmode: "decimal", value: old === undefined ? "" : String(old), required: true });
  const made = field(theirs(parameter.name), input, {
    hint: parameter.type === "categorical" ? "" : rangeText(parameter),
  });
  return {
    ...made,
    name: parameter.name,
    isNumber: parameter.type !== "categorical",
    read: () => readValue(parameter, input.value),
  };
};

const valueField = (metric, values) => {
  const input = textInput({ inputmode: "decimal", value: values?.[metric.name] ?? "" });
  const made = field(theirs(metric.name), input, { hint: goalWords(metric) });
  return { ...made, name: metric.name, isNumber: true, read: () => readNumber(input.value) };
};

/** What the form can see by itself: every field has something in it, and numbers are numbers. */
const areReady = (fields) => {
  const wrong = fields.filter((one) => {
    const isEmpty = one.input.value.trim() === "";
    if (isEmpty) one.fail("This is needed.");
    else if (one.isNumber && typeof one.read() !== "number")
      one.fail("This must be a number, such as 0.1 or 1e-5.");
    else return false;
    return true;
  });
  wrong[0]?.input.focus();
  return wrong.length === 0;
};

const read = (fields) => Object.fromEntries(fields.map((one) => [one.name, one.read()]));

/** The server's words at the field they are about; a name in quotes tells which, the longest if several fit. */
export const blame = (error, fields, form) => {
  const message = error.message.replace(/^entry 0 of `trials`: /, ""); // there is only one
  const named = fields
    .filter(({ name }) => name && (message.includes(`'${name}'`) || message.includes(`"${name}"`)))
    .sort((a, b) => b.name.length - a.name.length)[0];
  if (!named) return form.fail(message);
  named.fail(message);
  named.input.focus();
};

/** A form in a dialog; `send` does the work, and what it throws is shown where it belongs. */
const formDialog = (title, { intro, parts, fields, action, send }) =>
  openDialog(title, (close) => {
    const problem = formError();
    const button = el("button", { type: "submit", class: "primary" }, action);
    const form = el(
      "form",
      { novalidate: true },
      intro && el("p", {}, intro),
      parts,
      problem.node,
      el(
        "p",
        { class: "actions" },
        button,
        el("button", { type: "button", on: { click: () => close() } }, "Cancel"),
      ),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      busy(button, async () => {
        problem.fail(null);
        fields().forEach((one) => one.fail(null));
        if (!areReady(fields())) return;
        try {
          close(await send());
        } catch (error) {
          blame(error, fields(), problem);
        }
      });
    });
    return form;
  });

/** A trial of one's own: measured already, or to be measured next. */
export const addTrial = async (data, params) => {
  const { problem, id } = data;
  const inputs = problem.space.parameters.map((parameter) => paramField(parameter, params));
  const values = problem.metrics.map((metric) => valueField(metric));
  const kind = choice(
    [
      ["queue", "Hand it out next"],
      ["values", "It was measured already"],
      ["infeasible", "It cannot be measured (infeasible)"],
    ],
    "queue",
  );
  const why = field("Why", textInput());
  const what = field("What to do with it", kind);
  const results = el(
    "fieldset",
    { hidden: true },
    el("legend", {}, "Result"),
    values.map((one) => one.node),
  );
  why.node.hidden = true;
  kind.addEventListener("change", () => {
    results.hidden = kind.value !== "values";
    why.node.hidden = kind.value !== "infeasible";
  });
  const entry = () => {
    if (kind.value === "values") return { params: read(inputs), values: read(values) };
    if (kind.value === "infeasible")
      return { params: read(inputs), infeasible: why.input.value.trim() || "entered by hand" };
    return { params: read(inputs) };
  };
  const added = await formDialog("Add a trial", {
    parts: [
      el(
        "fieldset",
        {},
        el("legend", {}, "Parameters"),
        inputs.map((one) => one.node),
      ),
      what.node,
      results,
      why.node,
    ],
    fields: () => [...inputs, ...(kind.value === "values" ? values : [])],
    action: "Add",
    send: async () => (await api.addTrials(id, [entry()])).trials[0],
  });
  if (added) {
    toast(
      kind.value === "queue" ? `Trial ${added.number} is in the queue.` : `Trial ${added.number} is added.`,
    );
    await data.refresh();
  }
  return added;
};

/** The result of a trial that somebody measures by hand. */
export const tellTrial = async (problem, studyId, trial) => {
  const values = problem.metrics.map((metric) => valueField(metric));
  const kind = choice(
    [
      ["values", "Measured"],
      ["infeasible", "Cannot be measured here (infeasible)"],
      ["failed", "The measurement broke (failed)"],
    ],
    "values",
  );
  const why = field("Why", textInput());
  why.node.hidden = true;
  const results = el(
    "div",
    {},
    values.map((one) => one.node),
  );
  kind.addEventListener("change", () => {
    results.hidden = kind.value !== "values";
    why.node.hidden = kind.value === "values";
  });
  const told = await formDialog(`Result of trial ${trial.number}`, {
    parts: [field("Outcome", kind).node, results, why.node],
    fields: () => (kind.value === "values" ? values : []),
    action: "Tell",
    send: () =>
      api.tell(
        studyId,
        trial.number,
        kind.value === "values"
          ? { values: read(values) }
          : { [kind.value]: why.input.value.trim() || "entered by hand" },
      ),
  });
  if (told) toast(`Trial ${trial.number} has its result.`);
  return told;
};

/** A correction, which stays on record beside what was there. */
export const amendTrial = async (problem, studyId, trial) => {
  const values = problem.metrics.map((metric) => valueField(metric, trial.values));
  const amended = await formDialog(`Correct trial ${trial.number}`, {
    intro: "The old values stay on record with the time of the correction.",
    parts: values.map((one) => one.node),
    fields: () => values,
    action: "Correct",
    send: () => api.amend(studyId, trial.number, read(values)),
  });
  if (amended) toast(`Trial ${trial.number} is corrected.`);
  return amended;
};
