/** Makes elements. What is given as a child becomes text; there is no way to give markup. */

/**
 * Return an element with attributes and children; `on` has listeners by event.
 * An attribute that is false, null or undefined is left out, one that is true is empty.
 */
export function make(tag, given = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Return the element with this id, which the page has. */
export function byId(id) {
  return document.getElementById(id);
}

/** Have `words` read by a screen reader when what is being read has ended, wherever the focus is. */
export function announce(words) {
  byId("announced").textContent = words;
}
