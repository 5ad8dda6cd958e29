/** The address of the page: `#/THREAD` is a conversation, `#/THREAD/RUN` one of its answers. */

const PATTERN = /^#\/([0-9a-f]{32})(?:\/([0-9a-f-]{36}))?$/;

/** Return the thread and the run in the address; without a conversation, both are null. */
export function addressed() {
  const [, thread = null, run = null] = PATTERN.exec(location.hash) ?? [];
  return { thread, run };
}

/** Write the conversation into the address unless it is there already, as a new entry of the history if `isNew`. */
export function showAddress(thread, { isNew = true } = {}) {
  if (addressed().thread === thread) return;
  history[isNew ? "pushState" : "replaceState"](null, "", thread ? `#/${thread}` : location.pathname + location.search);
}

/** Return the address of an answer, relative to the page. */
export function answerAddress(thread, run) {
  return `#/${thread}/${run}`;
}

/** Call `listener` when the user goes back or forward, or follows a link of the page. */
export function onAddress(listener) {
  addEventListener("hashchange", () => listener(addressed()));
}
