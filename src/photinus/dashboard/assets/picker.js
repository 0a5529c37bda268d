// A field that finds studies by name.

import { api } from "/static/api.js";
import { el, newId, replace } from "/static/dom.js";
import { textInput } from "/static/forms.js";

const FOUND = 20; // names that are offered

/** `onPick(id)` is called for every study that is named; `show(name)` fills the field. */
export const studyPicker = (label, onPick) => {
  const id = newId("found");
  const input = textInput({
    type: "search",
    placeholder: "Begin to type a name",
    "aria-label": label,
    list: id,
  });
  const list = el("datalist", { id });
  let known = new Map();
  let timer;
  const look = async () => {
    const { studies } = await api.studies({ search: input.value.trim(), limit: FOUND, newest_first: true });
    known = new Map(studies.map((study) => [study.name, study.id]));
    replace(
      list,
      studies.map((study) => el("option", { value: study.name })),
    );
  };
  const pick = () => known.has(input.value) && onPick(known.get(input.value));
  input.addEventListener("focus", () => look().catch(() => {}));
  input.addEventListener("input", () => {
    clearTimeout(timer);
    if (known.has(input.value)) pick();
    else
      timer = setTimeout(
        () =>
          look()
            .then(pick)
            .catch(() => {}),
        200,
      );
  });
  return {
    node: el("label", { class: "pick" }, label, input, list),
    show: (name) => {
      if (document.activeElement !== input) input.value = name;
    },
  };
};
