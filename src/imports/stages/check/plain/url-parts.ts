import { putByte, putBytes, putSpan, type ByteWriter } from './byte-writer.ts';
import { quote } from './canonical-value.ts';
import { urlProperties, type CompiledTable } from './compiled-table.ts';
import type { RecordSpans } from './record-spans.ts';

/** Host and path of the page of an event, where it has a page and lacks them; as settleProperties adds them. */
export interface UrlParts {
  /** False: the record is odd. */
  prepare(json: Buffer): boolean;
  /** What they need at most. */
  readonly bytes: number;
  write(writer: ByteWriter, json: Buffer): void;
}

const hostKey = Buffer.from(`"${urlProperties.host}":"`);
const pathKey = Buffer.from(`"${urlProperties.path}":"`);
const comma = 0x2c;
const slash = 0x2f;
const question = 0x3f;
const fragment = 0x23;
const at = 0x40;
const backslash = 0x5c;
const schemes = ['http://', 'https://'].map((scheme) => Buffer.from(scheme));
const nullByte = 0x6e;

export function createUrlParts({ propertyOf }: CompiledTable, spans: RecordSpans): UrlParts {
  const [url, host, path] = [urlProperties.url, urlProperties.host, urlProperties.path].map(propertyOf) as [
    number,
    number,
    number,
  ];
  let hostFrom = -1;
  let hostTo = -1;
  let pathTo = -1;
  let lacksHost = false;
  let lacksPath = false;
  return {
    prepare: (json) => {
      hostFrom = -1;
      const from = spans.propertyFrom(url);
      lacksHost = spans.propertyFrom(host) < 0;
      lacksPath = spans.propertyFrom(path) < 0;
      if (from < 0 || json[from] !== quote || !(lacksHost || lacksPath)) return true;
      // A null would be filled in where it stands.
      if (isNull(json, spans.propertyFrom(host)) || isNull(json, spans.propertyFrom(path))) return false;
      const to = spans.propertyTo(url) - 1;
      const start = schemeEnd(json, from + 1);
      // Another scheme, or this one in capitals or escapes.
      if (start < 0) return json[from + 1] !== 0x68 && json[from + 1] !== 0x48 && json[from + 1] !== backslash;
      let end = start;
      while (end < to && json[end] !== slash && json[end] !== question && json[end] !== fragment) {
        if (json[end] === at || json[end] === backslash) return false;
        end += 1;
      }
      if (end === start) return false;
      hostTo = end;
      while (end < to && json[end] !== question && json[end] !== fragment) {
        if (json[end] === backslash) return false;
        end += 1;
      }
      hostFrom = start;
      pathTo = end;
      return true;
    },
    get bytes() {
      return hostFrom < 0 ? 0 : pathTo - hostFrom + hostKey.length + pathKey.length + 5;
    },
    write: (writer, json) => {
      if (hostFrom < 0) return;
      if (lacksHost) {
        putBytes(writer, hostKey);
        putSpan(writer, json, hostFrom, hostTo);
        putByte(writer, quote);
        putByte(writer, comma);
      }
      if (!lacksPath) return;
      putBytes(writer, pathKey);
      if (pathTo === hostTo) putByte(writer, slash);
      else putSpan(writer, json, hostTo, pathTo);
      putByte(writer, quote);
      putByte(writer, comma);
    },
  };
}

function isNull(json: Buffer, from: number): boolean {
  return from >= 0 && json[from] === nullByte;
}

function schemeEnd(json: Buffer, from: number): number {
  for (const scheme of schemes) {
    let length = 0;
    while (length < scheme.length && json[from + length] === scheme[length]) length += 1;
    if (length === scheme.length) return from + length;
  }
  return -1;
}
