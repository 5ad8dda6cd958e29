/** The address of the page: `#/THREAD` is a conversation, `#/THREAD/RUN` one of its answers, `#/boards/BOARD` a board. */

const PATTERN = /^#\/(?:([0-9a-f]{32})(?:\/([0-9a-f-]{36}))?|boards(?:\/(bd_[0-9a-f]{16}))?)$/;

/** Return the thread, the run and the board in the address; what it does not name is null, and `#/boards` names the board "". */
export function addressed() {
  const [found, thread = null, run = null, board = ""] = PATTERN.exec(location.hash) ?? [];
  return { thread, run, board: found && !thread ? board : null };
}

/** Write the conversation into the address unless it or a board is there, as a new entry of the history if `isNew`. */
export function showAddress(thread, { isNew = true } = {}) {
  const shown = addressed();
  if (shown.board !== null || shown.thread === thread) return;
  history[isNew ? "pushState" : "replaceState"](null, "", thread ? answerAddress(thread) : location.pathname + location.search);
}

/** Return the address of a conversation or of an answer in it, relative to the page. */
export function answerAddress(thread, run = null) {
  return `#/${thread}${run ? `/${run}` : ""}`;
}

/** Return the address of a board, by default of the first one, relative to the page. */
export function boardAddress(id = "") {
  return `#/boards${id ? `/${id}` : ""}`;
}

/** Call `listener` when the user goes back or forward, or follows a link of the page. */
export function onAddress(listener) {
  addEventListener("hashchange", () => listener(addressed()));
}
