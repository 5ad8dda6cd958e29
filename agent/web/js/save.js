/** What leaves the page: files and the clipboard. */

import { request } from "./api.js";
import { button } from "./controls.js";
import { announce, make } from "./dom.js";
import { say, text } from "./language.js";
import { notify } from "./sidebar.js";

const SHOWN_MS = 2000;
const LONGEST_NAME = 60;

/** Have the browser save `blob` under `name`. */
export function saveFile(blob, name) {
  const address = URL.createObjectURL(blob);
  make("a", { href: address, download: name }).click();
  URL.revokeObjectURL(address);
}

/** Have the browser save what the server has at `path` under `name`. */
export async function saveFrom(path, name) {
  try {
    saveFile(await (await request(path)).blob(), name);
  } catch (error) {
    notify(error.message);
  }
}

/** Return the text of a button that saves a file of the type `name`. */
export function saveAs(name) {
  return () => text("save_as", { name });
}

/** Return the name of a file about what was `said`: its words, at most 60 characters, and `suffix`. */
export function fileName(said, suffix) {
  const name = said.normalize("NFKC").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-/, "");
  return `${[...name].slice(0, LONGEST_NAME).join("").replace(/-$/, "") || "datasphinx"}${suffix}`;
}

/** Return a button that copies what `content()` gives, and says whether that went well. */
export function copyButton(content) {
  const made = button("copy", async () => {
    const key = (await copied(content())) ? "copied" : "copy_failed";
    say(made, key);
    announce(text(key));
    setTimeout(() => say(made, "copy"), SHOWN_MS);
  });
  return made;
}

async function copied(content) {
  try {
    await navigator.clipboard.writeText(content);
    return true;
  } catch {
    return copiedBySelection(content);
  }
}

/** Without TLS a page on another machine has no clipboard but by what is selected. */
function copiedBySelection(content) {
  const field = make("textarea", { class: "visually-hidden", "aria-hidden": "true" });
  const focused = document.activeElement;
  field.value = content;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  focused?.focus();
  return done;
}
