// The lines that attach a worker, in Python and on the command line.

import { codeBox, openDialog } from "/static/dialogs.js";
import { el } from "/static/dom.js";
import { session } from "/static/session.js";

/** Marks that turn text around or cannot be seen are written by their number: what is copied is what is seen. */
const visible = (text) =>
  text.replace(
    /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb]/g,
    (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** A string as Python and TOML write it; JSON's escapes are a part of both. */
const quoted = (text) => visible(JSON.stringify(text));

const shellWord = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

const example = (problem) => {
  const [first, ...rest] = problem.metrics;
  return rest.length
    ? `{${problem.metrics.map((metric) => `${quoted(metric.name)}: ...`).join(", ")}}`
    : `...  # the measured ${visible(first.name).replace(/\s+/g, " ")}`;
};

export const pythonSnippet = (record, origin) => {
  const project = record.project === "default" ? "" : `, project=${quoted(record.project)}`;
  const token = session.needsTokens ? "  # the token is read from PHOTINUS_TOKEN" : "";
  const first = record.problem.space.parameters[0];
  return [
    "import photinus as ph",
    "",
    `server = ph.connect(${quoted(origin)}${project})${token}`,
    `study = server.load_study(${quoted(record.name)})`,
    "",
    "",
    "def measure(trial):",
    `    print(trial.params[${quoted(first.name)}])  # and the other parameters`,
    `    return ${example(record.problem)}`,
    "",
    "",
    "study.optimize(measure, n_trials=100)",
    "",
  ].join("\n");
};

const tomlValue = (value) => (typeof value === "string" ? quoted(value) : String(value));

/** The study as a space file, which `photinus tune` wants to see. */
export const spaceFile = (record) => {
  const { metrics, space } = record.problem;
  const goals = metrics.map((metric) => `${quoted(metric.name)} = "${metric.goal}"`).join(", ");
  const lines = [
    "[study]",
    `name = ${quoted(record.name)}`,
    `objectives = { ${goals} }`,
    `algorithm = "${record.algorithm}"`,
  ];
  for (const parameter of space.parameters) {
    lines.push("", `[space.${quoted(parameter.name)}]`, `type = "${parameter.type}"`);
    if (parameter.values) lines.push(`values = [${parameter.values.map(tomlValue).join(", ")}]`);
    else lines.push(`low = ${tomlValue(parameter.low)}`, `high = ${tomlValue(parameter.high)}`);
    if (parameter.scale && parameter.scale !== "linear") lines.push(`scale = "${parameter.scale}"`);
  }
  return `${lines.join("\n")}\n`;
};

/** TOML has no null, and a name with braces cannot stand in a command: then only Python will do. */
const hasSpaceFile = ({ problem }) =>
  problem.space.parameters.every(({ name, values }) => !/[{}]/.test(name) && !(values ?? []).includes(null));

export const commandSnippet = (record, origin) => {
  const project = record.project === "default" ? "" : ` --project ${shellWord(record.project)}`;
  const words = record.problem.space.parameters.map(({ name }) => shellWord(`--${name}={${name}}`)).join(" ");
  const place = `--url ${shellWord(origin)}${project}`;
  return `photinus tune space.toml --trials 100 ${place} \\\n  -- python train.py ${words}\n`;
};

export const showSnippet = (record) =>
  openDialog(
    "Attach a worker",
    () =>
      [
        el(
          "p",
          {},
          "Put your measurement where the dots are, and run this wherever this server can be reached, as often as " +
            "you have machines. Every worker gets points of its own.",
        ),
        session.needsTokens &&
          el(
            "p",
            { class: "hint" },
            "Put a token with the role write into the environment variable PHOTINUS_TOKEN first.",
          ),
        el("h3", {}, "Python"),
        codeBox("worker.py", pythonSnippet(record, location.origin), "the Python code"),
        el("h3", {}, "Any program, from the command line"),
        ...(hasSpaceFile(record)
          ? [
              el(
                "p",
                { class: "hint" },
                "The program prints the value on its last line, or all values as a line of JSON. " +
                  "It needs the file space.toml, which says what the study is.",
              ),
              codeBox("in a shell", commandSnippet(record, location.origin), "the command"),
              codeBox("space.toml", spaceFile(record), "the space file"),
            ]
          : [
              el(
                "p",
                { class: "hint" },
                "This space has values or names that a space file cannot hold; use Python.",
              ),
            ]),
      ].filter(Boolean),
    { isWide: true },
  );
