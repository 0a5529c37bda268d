// What can be done with a study: attach workers, add trials, stop, resume, take it home, delete it.

import { api } from "/static/api.js";
import { openDialog, toast } from "/static/dialogs.js";
import { el, theirs } from "/static/dom.js";
import { addTrial } from "/static/entry.js";
import { busy, field, formError, textInput } from "/static/forms.js";
import { many } from "/static/format.js";
import { numAll } from "/static/goals.js";
import { navigate } from "/static/routes.js";
import { session } from "/static/session.js";
import { showSnippet } from "/static/snippet.js";

export const studyActions = (data) => {
  const { record, id } = data;
  const isStopped = record.state === "stopped";
  const toggle = el("button", { type: "button" }, isStopped ? "Resume" : "Stop");
  toggle.addEventListener("click", () => busy(toggle, () => change(data, isStopped)));
  const link = (format, text) =>
    el("a", { class: "button", href: api.exportAddress(id, format), download: "" }, text);
  return el(
    "div",
    { class: "actions" },
    session.canWrite &&
      el(
        "button",
        { type: "button", class: "primary", on: { click: () => showSnippet(data.record) } },
        "Attach a worker",
      ),
    session.canWrite &&
      el(
        "button",
        { type: "button", on: { click: () => addTrial(data, data.best[0]?.params) } },
        "Add a trial",
      ),
    session.canWrite && toggle,
    menu("More", [
      link("json", "Export as JSON"),
      link("csv", "Export as CSV"),
      el("a", { class: "button", href: `/compare?ids=${id}` }, "Compare with another"),
      session.canDelete &&
        el(
          "button",
          { type: "button", class: "danger", on: { click: () => confirmDelete(data) } },
          "Delete…",
        ),
    ]),
  );
};

const change = async (data, isStopped) => {
  try {
    await (isStopped ? api.resumeStudy(data.id) : api.stopStudy(data.id));
    toast(
      isStopped
        ? "The study goes on."
        : "The study is stopped: workers end after their running trials. A worker that is started anew resumes it.",
    );
    await data.refresh();
  } catch (error) {
    toast(error.message, "bad");
  }
};

/** A list that opens under its button, and closes by Escape, by a choice, and by a click elsewhere. */
const menu = (label, items) => {
  const details = el(
    "details",
    { class: "menu" },
    el("summary", { class: "button" }, label),
    el("div", { class: "menu-list" }, items),
  );
  const close = (event) => {
    if (!details.isConnected) document.removeEventListener("click", close);
    else if (details.open && !details.querySelector("summary").contains(event.target)) details.open = false;
  };
  details.addEventListener("toggle", () => {
    if (details.open) document.addEventListener("click", close);
    else document.removeEventListener("click", close);
  });
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    details.open = false;
    details.querySelector("summary").focus();
  });
  return details;
};

/** Deleting needs the study's name, typed. Names that nobody can type are replaced by a word that everybody can. */
const confirmDelete = (data) =>
  openDialog("Delete this study?", (close) => {
    const { name, counts } = data.record;
    const word = /^[\x20-\x7e]{1,60}$/.test(name) && name.trim() === name ? name : "delete";
    const typed = field(["Type ", el("b", {}, theirs(word)), " to confirm"], textInput());
    const button = el("button", { type: "submit", class: "danger", disabled: true }, "Delete for good");
    const problem = formError();
    typed.input.addEventListener("input", () => (button.disabled = typed.input.value !== word));
    const form = el(
      "form",
      { novalidate: true },
      el(
        "p",
        {},
        el("b", {}, theirs(name)),
        ` and its ${many(numAll(counts), "trial")} will be gone, for everybody. Export the study first if in doubt.`,
      ),
      typed.node,
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
      if (typed.input.value !== word) return;
      busy(button, async () => {
        try {
          await api.deleteStudy(data.id);
        } catch (error) {
          problem.fail(error.message);
          return;
        }
        close();
        toast("The study is deleted.");
        navigate("/");
      });
    });
    return form;
  });
