// What was paid for, by role and model, and what is left of each limit.

import type { ComponentChildren } from "preact";
import { count, duration, grouped, lasted, modelName, money, short, tokens } from "./format";
import { Titled } from "./marks";
import type { Paid, RunTold } from "./told";

const NUMBERS = new Set(["calls", "tokens", "cost", "from the cache"]);

export function Table({ heads, children }: { heads: string[]; children: ComponentChildren }) {
  return (
    <div class="scrolls" tabIndex={0} role="group" aria-label={heads.join(", ")}>
      <table>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col" class={NUMBERS.has(head) ? "number" : undefined}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

export function Spent({ told }: { told: RunTold }) {
  const known = told.ledger.some((line) => line.reused);
  const total = (told.usage.read ?? 0) + (told.usage.written ?? 0);
  const set = told.settings ?? {};
  const limits: Limit[] = [
    { name: "dollars", used: told.cost, most: set.usd, show: money },
    { name: "tokens", used: told.usage.read === null ? null : total, most: set.tokens, show: short },
    { name: "sub-calls", used: told.sub_calls, most: set.calls, show: grouped },
    { name: "seconds", used: lasted(told), most: set.seconds, show: duration },
    { name: "turns", used: told.turns, most: set.max_turns, show: grouped },
  ].filter((limit): limit is Limit => typeof limit.most === "number");
  return (
    <Titled title="Spent, and left">
      {told.ledger.length ? (
        <Table heads={["role", "model", "calls", "tokens", "cost", ...(known ? ["from the cache"] : [])]}>
          {told.ledger.map((line, at) => (
            <PaidRow key={at} line={line} known={known} />
          ))}
        </Table>
      ) : (
        <p class="dim">{told.going ? "Nothing has been paid for yet." : "Nothing was paid for."}</p>
      )}
      {limits.length > 0 && (
        <dl class="limits">
          {limits.map((limit) => (
            <LimitPair key={limit.name} {...limit} />
          ))}
        </dl>
      )}
    </Titled>
  );
}

function PaidRow({ line, known }: { line: Paid; known: boolean }) {
  return (
    <tr>
      <td>{line.role}</td>
      <td class="model" title={line.model}>
        {modelName(line.model)}
      </td>
      <td class="number">{grouped(line.usage.calls)}</td>
      <td class="number">{tokens(line.usage)}</td>
      <td class="number">{money(line.cost)}</td>
      {known && (
        <td class="number">
          {line.reused ? `${count(line.reused, "reply", "replies")}, ${money(line.reused_cost)}` : "–"}
        </td>
      )}
    </tr>
  );
}

interface Limit {
  name: string;
  used: number | null;
  most: number;
  show: (amount: number) => string;
}

function LimitPair({ name, used, most, show }: Limit) {
  const left = used === null ? "what is left is not known" : `${show(Math.max(0, most - used))} left`;
  return (
    <>
      <dt>{name}</dt>
      <dd>
        {used !== null && (
          <meter min={0} max={most} value={Math.min(used, most)} high={most * 0.8} optimum={0} aria-label={`${name} spent`} />
        )}
        <span>{`${used === null ? "?" : show(used)} of ${show(most)}, ${left}`}</span>
      </dd>
    </>
  );
}
