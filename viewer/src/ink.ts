// The colours of what is drawn by hand, as the style sheet has them.

const NAMES = ["ink", "dim", "line", "paper", "soft", "bad", "live", "model", "cell", "call", "print", "child", "unread"] as const;

export type Colours = Record<(typeof NAMES)[number] | "font", string>;

export function colours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return { ...Object.fromEntries(NAMES.map((name) => [name, of(name)])), font: of("sans") } as Colours;
}

const dark = matchMedia("(prefers-color-scheme: dark)");

/** Calls when the colours are others, until it is stopped. */
export function whenColoursChange(heard: () => void): () => void {
  dark.addEventListener("change", heard);
  return () => dark.removeEventListener("change", heard);
}
