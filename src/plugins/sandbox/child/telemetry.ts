import type { WireTelemetry } from '../wire/messages.ts';

const linesPerTurnMax = 100;
const linesMax = 1000;
const lineLengthMax = 8192;
const metricsMax = 100;
const levels: ReadonlySet<unknown> = new Set(['DEBUG', 'LOG', 'INFO', 'WARN', 'ERROR']);
const kinds: ReadonlySet<unknown> = new Set(['sum', 'min', 'max']);

/** Buffers a plugin's logs and metrics until they are sent, within limits. */
export class Telemetry {
  #logs: WireTelemetry['logs'][number][] = [];
  #lines = new Map<string, number>();
  #metrics = new Map<string, [string, string, number]>();

  log(source: 'CONSOLE' | 'PLUGIN', level: unknown, message: unknown, id: unknown, index: unknown): void {
    if (typeof message !== 'string' || !levels.has(level) || this.#logs.length > linesMax) return;
    const turn = `${Number(id)}:${Number(index)}`;
    const lines = (this.#lines.get(turn) ?? 0) + 1;
    this.#lines.set(turn, lines);
    if (lines > linesPerTurnMax + 1 || this.#lines.size > linesMax) return;
    const text =
      lines > linesPerTurnMax
        ? `expected at most ${linesPerTurnMax} lines in one call; further lines are dropped`
        : bounded(message);
    this.#logs.push([Date.now(), source, lines > linesPerTurnMax ? 'WARN' : String(level), text]);
  }

  metric(name: unknown, kind: unknown, value: unknown): void {
    if (typeof name !== 'string' || name.length > 200 || typeof value !== 'number' || !Number.isFinite(value)) return;
    if (!kinds.has(kind)) return;
    const key = `${String(kind)}:${name}`;
    const before = this.#metrics.get(key);
    if (!before) {
      if (this.#metrics.size < metricsMax) this.#metrics.set(key, [name, String(kind), value]);
    } else if (kind === 'sum') before[2] += value;
    else before[2] = kind === 'min' ? Math.min(before[2], value) : Math.max(before[2], value);
  }

  /** Drops the line count of a finished call. */
  endOf(id: number): void {
    if (this.#lines.size === 0) return;
    for (const turn of this.#lines.keys()) if (turn.startsWith(`${id}:`)) this.#lines.delete(turn);
  }

  take(): WireTelemetry | undefined {
    if (this.#logs.length === 0 && this.#metrics.size === 0) return undefined;
    const gathered = { logs: this.#logs, metrics: [...this.#metrics.values()] };
    this.#logs = [];
    this.#metrics = new Map();
    return gathered;
  }
}

function bounded(message: string): string {
  return message.length <= lineLengthMax ? message : `${message.slice(0, lineLengthMax)}…`;
}
