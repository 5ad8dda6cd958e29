/** The key of a server that wants one: asked for when it does, kept in the tab alone. */

import { byId } from "./dom.js";
import { keep, kept } from "./kept.js";

const GIVEN = "datasphinx-key";
let asking = null;
let refusedAt = -Infinity;

/** Return the headers that a request carries. */
export function keyHeaders() {
  const key = kept("key", "sessionStorage");
  return key ? { Authorization: `Bearer ${key}` } : {};
}

/** Call `listener` once, when the user gives a key. */
export function onceKeyGiven(listener) {
  document.addEventListener(GIVEN, listener, { once: true });
}

/**
 * Ask the user for a key; return whether one was given. Requests that need one at the same time share the dialog,
 * and a request sent before the user closed it, at `sentAt` by `performance.now()`, does not open it again.
 */
export async function askKey(sentAt) {
  if (sentAt < refusedAt) return false;
  asking ??= asked().finally(() => {
    asking = null;
  });
  const isGiven = await asking;
  if (!isGiven) refusedAt = performance.now();
  return isGiven;
}

function asked() {
  const dialog = byId("key-dialog");
  const field = byId("key");
  field.value = "";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(taken(dialog.returnValue, field)), { once: true });
  });
}

function taken(pressed, field) {
  if (pressed !== "use" || !field.value.trim()) return false;
  // A header takes no other letters, and no key has any.
  keep("key", field.value.replace(/[^\x21-\x7e]/g, "?"), "sessionStorage");
  field.value = "";
  document.dispatchEvent(new Event(GIVEN));
  return true;
}
