// Which trials are shown: by state, worker and words, and by what was brushed in the parallel coordinates.

/** The filter of one study page, shared by its tabs. */
export const makeFilter = () => ({
  states: new Set(), // empty: every state
  worker: "", // empty: everybody's
  text: "",
  brushes: new Map(), // axis name → { place: (trial) → [0, 1] or null, low, high, words }
});

const hasText = (trial, text) =>
  [String(trial.number), trial.worker, trial.message, ...Object.values(trial.params).map(String)].some(
    (part) => part?.toLowerCase().includes(text),
  );

const isBrushed = (trial, brushes) => {
  for (const { place, low, high } of brushes.values()) {
    const at = place(trial);
    if (at === null || at < low - 1e-9 || at > high + 1e-9) return false;
  }
  return true;
};

export const filtered = (trials, { states, worker, text, brushes }) => {
  const words = text.trim().toLowerCase();
  return trials.filter(
    (trial) =>
      (states.size === 0 || states.has(trial.state)) &&
      (worker === "" || trial.worker === worker) &&
      (words === "" || hasText(trial, words)) &&
      isBrushed(trial, brushes),
  );
};
