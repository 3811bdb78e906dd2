// What Vite makes of the viewer's sources: one classic script, one style sheet, the page, always under these names.
// A module script would not do: browsers load none for a page that is a file, which an exported run is.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const licence = readFileSync(here("node_modules/preact/LICENSE"), "utf8").trim();

export default defineConfig({
  root: here("."),
  build: {
    outDir: here("../src/unspool/viewer/built"),
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    cssMinify: false,
    reportCompressedSize: false,
    rolldownOptions: {
      input: here("src/main.tsx"),
      output: {
        format: "iife",
        entryFileNames: "page.js",
        assetFileNames: "viewer[extname]",
        postBanner: `/*! Preact, which is part of this script:\n\n${licence}\n*/`,
      },
    },
  },
});
