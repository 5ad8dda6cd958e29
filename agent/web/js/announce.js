/** What a screen reader says although the focus is elsewhere. */

import { byId } from "./dom.js";

/** Have `words` read when what is being read has ended. */
export function announce(words) {
  byId("announced").textContent = words;
}
