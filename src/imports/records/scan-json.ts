const newline = 0x0a;
const space = 0x20;
const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;

/** How far a value of JSON has come that lies in several lines. */
export interface JsonScan {
  depth: number;
  inString: boolean;
  escaped: boolean;
  /** A string has ended, behind which little may follow. */
  afterString: boolean;
}

export function beginJson(): JsonScan {
  return { depth: 0, inString: false, escaped: false, afterString: false };
}

/**
 * Takes another line. `open`: it ends within a string; `ended`: with the value, but for commas; `impossible`: it cannot be JSON,
 * or ends elsewhere. Any line that begins a record is impossible within a string: its first quote closes the string, and a
 * name follows.
 */
export function followJson(scan: JsonScan, line: Buffer): 'open' | 'ended' | 'impossible' {
  let isOver = false;
  for (const byte of line) {
    if (scan.inString) followString(scan, byte);
    else if (byte > space) {
      if (isOver ? byte !== comma : scan.afterString && !mayFollowString(byte)) return 'impossible';
      isOver ||= followToken(scan, byte);
    } else if (byte === newline) break;
  }
  return scan.inString ? 'open' : isOver ? 'ended' : 'impossible';
}

function followString(scan: JsonScan, byte: number): void {
  if (scan.escaped) scan.escaped = false;
  else if (byte === backslash) scan.escaped = true;
  else if (byte === quote) {
    scan.inString = false;
    scan.afterString = true;
  }
}

/** `,` `:` `]` `}` */
function mayFollowString(byte: number): boolean {
  return byte === comma || byte === colon || byte === 0x5d || byte === 0x7d;
}

/** Whether the value ends with it. */
function followToken(scan: JsonScan, byte: number): boolean {
  scan.afterString = false;
  if (byte === quote) scan.inString = true;
  if (byte === 0x7b || byte === 0x5b) scan.depth += 1;
  if (byte !== 0x7d && byte !== 0x5d) return false;
  scan.depth -= 1;
  return scan.depth <= 0;
}
