// A new study by form: what may be varied, what is measured, and how points are chosen.

import { api } from "/static/api.js";
import { toast } from "/static/dialogs.js";
import { el } from "/static/dom.js";
import { busy, choice, field, formError, textInput } from "/static/forms.js";
import { crumbs, emptyState } from "/static/parts.js";
import { navigate, studyPath } from "/static/routes.js";
import { session } from "/static/session.js";
import { readNumber } from "/static/space.js";
import { objectiveRow, parameterRow } from "/static/rows.js";

const ALGORITHMS = [
  ["default", "default: the best we know"],
  ["paper", "paper: exactly as published"],
  ["quasi_random", "quasi_random: even cover, no model"],
  ["random", "random: plain chance"],
];

/** Rows that can be added and taken away; at least one stays. */
const rowList = (makeRow, addText) => {
  const rows = [];
  const place = el("div", { class: "rows" });
  const add = () => {
    const row = makeRow(() => {
      if (rows.length === 1) return;
      rows.splice(rows.indexOf(row), 1);
      row.node.remove();
      rows.at(-1).focus();
    });
    rows.push(row);
    place.append(row.node);
    return row;
  };
  const button = el("button", { type: "button", on: { click: () => add().focus() } }, addText);
  add();
  return { rows, node: el("div", {}, place, el("p", {}, button)) };
};

export const openPage = (main) => {
  document.title = "New study · Photinus";
  if (!session.canWrite) {
    const all = el("a", { href: "/", class: "button" }, "All studies");
    main.append(
      emptyState("Your token may only look", "Creating a study needs a token with the role write.", all),
    );
    return {};
  }
  const name = field("Name", textInput({ placeholder: "made up if left empty" }), {
    hint: "How people and workers will find it.",
  });
  const project = field(
    "Project",
    textInput({ value: session.project ?? "default", disabled: session.project !== null }),
    {
      hint:
        session.project === null
          ? "Names are unique within a project."
          : "Your token belongs to this project.",
    },
  );
  const algorithm = field("Algorithm", choice(ALGORITHMS, "default"));
  const seed = field("Seed", textInput({ inputmode: "numeric", placeholder: "drawn if left empty" }), {
    hint: "The same seed and results give the same suggestions.",
  });
  const parameters = rowList(parameterRow, "Add a parameter");
  const objectives = rowList(objectiveRow, "Add an objective");
  const problem = formError();
  const button = el("button", { type: "submit", class: "primary" }, "Create the study");
  const fields = { name, project, algorithm, seed };

  const body = () => ({
    project: project.input.value.trim() || "default",
    name: name.input.value === "" ? null : name.input.value,
    algorithm: algorithm.input.value,
    seed: seed.input.value.trim() === "" ? null : readNumber(seed.input.value),
    metadata: {},
    load_if_exists: false,
    problem: {
      format: 1,
      space: {
        format: 1,
        parameters: parameters.rows.map((row) => row.read()),
        constraints: [],
        context: [],
      },
      metrics: objectives.rows.map((row) => row.read()),
    },
  });

  const form = el(
    "form",
    { class: "create", novalidate: true },
    el(
      "section",
      { class: "card" },
      el("h2", {}, "Parameters"),
      el("p", { class: "hint" }, "What may be varied, and how far."),
      parameters.node,
    ),
    el(
      "section",
      { class: "card" },
      el("h2", {}, "Objectives"),
      el("p", { class: "hint" }, "What is measured. Several make a Pareto front."),
      objectives.node,
    ),
    el(
      "section",
      { class: "card" },
      el("h2", {}, "The study"),
      el("div", { class: "fields" }, name.node, project.node, algorithm.node, seed.node),
    ),
    problem.node,
    el("p", { class: "actions" }, button, el("a", { href: "/", class: "button" }, "Cancel")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    busy(button, async () => {
      problem.fail(null);
      const rows = [...parameters.rows, ...objectives.rows];
      rows.forEach((row) => row.clear());
      Object.values(fields).forEach((one) => one.fail(null));
      // Only what the server would not understand is caught here; what is right or wrong, the server says.
      if (rows.map((row) => row.isReady()).includes(false))
        return form.querySelector("[aria-invalid]")?.focus();
      try {
        const study = await api.createStudy(body());
        toast("The study is created.");
        navigate(studyPath(study.id));
      } catch (error) {
        blame(error, fields, parameters.rows, objectives.rows, problem);
        form.querySelector("[aria-invalid]")?.focus();
      }
      return undefined;
    });
  });
  main.append(crumbs(["/", "Studies"]), el("h1", {}, "New study"), form);
  parameters.rows[0].focus();
  return {};
};

/** Put the server's words at the field they are about. */
const blame = (error, fields, parameters, objectives, problem) => {
  const { kind, message } = error;
  if (kind === "DuplicateStudy" || /`?\bname`? must be/.test(message)) return fields.name.fail(message);
  // Where the form of the request is wrong, the server names the place: `problem.space.parameters.2.float.low`.
  const [, list, index] = /`problem\.(?:space\.)?(parameters|metrics)\.(\d+)/.exec(message) ?? [];
  if (list) return (list === "parameters" ? parameters : objectives)[Number(index)].fail(message);
  const quotes = (row) =>
    row.name() && [`'${row.name()}'`, `"${row.name()}"`].some((text) => message.includes(text));
  const named = [...parameters, ...objectives]
    .filter(quotes)
    .sort((a, b) => b.name().length - a.name().length)[0];
  if (named && /Space|Parameter|Problem|Argument|Unsupported/.test(kind)) return named.fail(message);
  // Rules of a range do not name the parameter, but they show its bounds.
  const ranged = parameters.find((row) => row.fits(message));
  if (ranged && /Space|Parameter/.test(kind)) return ranged.fail(message);
  for (const [word, one] of Object.entries(fields))
    if (message.includes(`\`${word}\``) || message.startsWith(word)) return one.fail(message);
  if (kind === "ProblemError") return objectives[0].fail(message);
  return problem.fail(message);
};
