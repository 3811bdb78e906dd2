// The page: what the address says is shown.

import "./viewer.css";
import { render } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { BesidePage } from "./beside";
import { Keys } from "./keys";
import { ListPage } from "./list";
import { read, toList, toRun, type Place } from "./route";
import { RunPage } from "./runpage";
import { isExport, onlyRun, takeToken } from "./source";

function placeNow(): Place {
  if (/^#token=/.test(location.hash)) takeToken();
  const place = read(location.hash);
  return onlyRun !== null && place.run !== onlyRun ? read(toRun(onlyRun)) : place;
}

function skip(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("#detail h1, #detail h2")?.focus();
}

function App() {
  const [place, setPlace] = useState(placeNow);
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const show = () => setPlace(placeNow());
    addEventListener("hashchange", show);
    return () => removeEventListener("hashchange", show);
  }, []);
  return (
    <>
      <a class="skip" href="#detail" onClick={skip}>
        To the content
      </a>
      <div class="bar" role="banner">
        {isExport ? (
          <b>unspool</b>
        ) : (
          <a href={toList()} class="home">
            unspool
          </a>
        )}
        <button type="button" class="quiet" onClick={() => dialog.current?.showModal()}>
          Keys
          <kbd aria-hidden="true">?</kbd>
        </button>
      </div>
      <div id="page">
        <Page place={place} />
      </div>
      <Keys dialog={dialog} />
    </>
  );
}

function Page({ place }: { place: Place }) {
  const { run = "", other = "" } = place;
  const key = place.page === "list" ? "list" : place.page === "beside" ? `${run} ${other}` : `run ${run}`;
  useLayoutEffect(() => {
    if (place.page === "list" || place.page === "beside") document.title = "unspool";
  }, [key]);
  if (place.page === "list") return <ListPage key={key} />;
  if (place.page === "beside") return <BesidePage key={key} one={run} two={other} />;
  return <RunPage key={key} id={run} place={place} />;
}

takeToken();
const app = document.getElementById("app");
if (app) setTimeout(() => render(<App />, app)); // a task of its own: to read this script is one already
