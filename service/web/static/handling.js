// Who looks after an incident: acknowledged, muted, assigned.

import { patch } from "./api.js";
import { h, say, set } from "./dom.js";
import { ago, moment } from "./format.js";
import { may, me } from "./person.js";

const MUTES = { hour: ["for an hour", 1], day: ["for a day", 24], week: ["for a week", 168], always: ["until somebody takes it back", 0] };
const SAID = { acknowledged: "Acknowledged", muted: "Muted: no messages to chats", open: "Not acknowledged" };

/** The words of a state in a list; nothing for what is open. */
export const stateOf = ({ state, assignee }) => [state === "acknowledged" || state === "muted" ? state : "", assignee ? `assigned to ${assignee}` : ""].filter(Boolean);

/** The group below an answer. */
export function handling(incident) {
  const place = h("div", { class: "judge handling", role: "group", "aria-label": "Who looks after it" });
  let allowed = true;
  show(incident);
  may("operate").then((yes) => yes || ((allowed = false), show(incident)));
  return place;

  function show(now) {
    const about = [now.assignee ? `assigned to ${now.assignee}` : "", now.muted_until ? `until ${moment(now.muted_until)}` : "", now.handled_by ? `by ${now.handled_by}` : ""].filter(Boolean).join(", ");
    const state = now.state ?? "open";
    set(place, h("span", { class: `state ${state}`, title: now.handled_at ? ago(now.handled_at) : null }, `${SAID[state]}${about ? ` (${about})` : ""}`), allowed ? [
      state === "open" ? h("button", { type: "button", on: { click: () => change({ state: "acknowledged" }) } }, "Acknowledge") : null,
      state === "muted" ? null : h("button", { type: "button", on: { click: () => mute(now) } }, "Mute …"),
      state === "open" ? null : h("button", { type: "button", on: { click: () => change({ state: "open" }) } }, "Reopen"),
      h("button", { type: "button", on: { click: () => assign(now) } }, "Assign …")] : null);
  }

  function mute(now) {
    const span = h("select", { id: "mute" }, Object.entries(MUTES).map(([key, [label]]) => h("option", { value: key }, label)));
    form(now, "Mute it", span, () => {
      const hours = MUTES[span.value][1];
      return { state: "muted", ...(hours ? { muted_until: new Date(Date.now() + hours * 3_600_000).toISOString() } : {}) };
    });
  }

  async function assign(now) {
    const name = h("input", { id: "assignee", type: "text", maxlength: 200, value: now.assignee ?? "", placeholder: "nobody", autocomplete: "off", spellcheck: "false" });
    form(now, "Assigned to", name, () => ({ assignee: name.value.trim() }));
    const { name: own } = await me();
    if (own && !name.value) name.value = own;
  }

  function form(now, label, field, said) {
    set(place, h("form", { class: "row", on: { submit: (event) => (event.preventDefault(), change(said())) } },
      h("label", { for: field.id }, label), field,
      h("button", { type: "submit", class: "primary" }, "Save"), h("button", { type: "button", "data-cancel": true, on: { click: () => show(now) } }, "Cancel")));
    field.focus();
  }

  async function change(words) {
    try {
      const now = await patch(`v1/incidents/${encodeURIComponent(incident.id)}`, words);
      show(now);
      say(words.assignee !== undefined ? (now.assignee ? `Assigned to ${now.assignee}` : "Unassigned") : SAID[now.state]);
      place.querySelector("button")?.focus();
    } catch (error) {
      set(place, h("span", { class: "problem", role: "alert" }, `${error.title}. ${error.detail}`), h("button", { type: "button", on: { click: () => show(incident) } }, "Back"));
    }
  }
}
