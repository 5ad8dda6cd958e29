/** What the browser keeps of a choice; one that keeps nothing, such as a private window, is no error. */

/** Return what was kept under `name`, or null. */
export function kept(name, store = "localStorage") {
  try {
    return window[store].getItem(`datasphinx.${name}`);
  } catch {
    return null;
  }
}

/** Keep `value` under `name`; an empty one is forgotten. */
export function keep(name, value, store = "localStorage") {
  try {
    if (value) window[store].setItem(`datasphinx.${name}`, value);
    else window[store].removeItem(`datasphinx.${name}`);
  } catch {
    // It holds until the page is left.
  }
}
