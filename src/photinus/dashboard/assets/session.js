// Who is looking, and what they may do. The server decides; pages only hide what would be refused.

import { api } from "/static/api.js";

const who = { role: null, project: null, name: null, tokens_required: true };

export const session = {
  get isKnown() {
    return who.role !== null;
  },
  get name() {
    return who.name;
  },
  get role() {
    return who.role;
  },
  get project() {
    return who.project;
  },
  get needsTokens() {
    return who.tokens_required;
  },
  get canWrite() {
    return who.role === "write" || who.role === "admin";
  },
  get canDelete() {
    return who.role === "admin";
  },
  async load() {
    Object.assign(who, await api.whoami());
  },
  forget() {
    Object.assign(who, { role: null, project: null, name: null });
  },
};
