/** One answer as it came over the wire. */
export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  /** The service closes the connection behind it. */
  readonly isLast: boolean;
}

export interface AnswerReader {
  push(bytes: Buffer): void;
  /** Returns the next complete response, or `undefined` if it has not arrived. @param method of the request that it answers */
  next(method: string): Answer | undefined;
  /** Bytes that belong to no whole answer. */
  rest(): Buffer;
}

/** Answers of HTTP/1.1, one after the other. @throws Error for other bytes */
export function createAnswerReader(): AnswerReader {
  let bytes: Buffer = Buffer.alloc(0);
  const next = (method: string): Answer | undefined => {
    const headEnd = bytes.indexOf('\r\n\r\n');
    if (headEnd < 0) return undefined;
    const [first = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
    const status = Number(/^HTTP\/1\.[01] (\d{3})( |$)/.exec(first)?.[1]);
    if (!(status >= 100)) throw new Error(`expected an answer of HTTP/1.1, got: ${first.slice(0, 100)}`);
    const headers = new Map(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    );
    // What comes before the answer proper.
    if (status < 200 && status !== 101) {
      bytes = bytes.subarray(headEnd + 4);
      return next(method);
    }
    const found = readBody(bytes, headEnd + 4, status, headers, method);
    if (found === undefined) return undefined;
    bytes = bytes.subarray(found.end);
    return { status, headers, body: found.body, isLast: headers.get('connection') === 'close' };
  };
  return {
    push: (more) => {
      bytes = bytes.length === 0 ? more : Buffer.concat([bytes, more]);
    },
    next,
    rest: () => bytes,
  };
}

interface FoundBody {
  readonly body: Buffer;
  readonly end: number;
}

function readBody(
  bytes: Buffer,
  from: number,
  status: number,
  headers: Answer['headers'],
  method: string,
): FoundBody | undefined {
  if (method === 'HEAD' || status === 204 || status === 304) return { body: Buffer.alloc(0), end: from };
  if (headers.get('transfer-encoding') === 'chunked') return readChunks(bytes, from);
  const length = Number(headers.get('content-length') ?? 0);
  const end = from + length;
  return bytes.length < end ? undefined : { body: bytes.subarray(from, end), end };
}

function readChunks(bytes: Buffer, from: number): FoundBody | undefined {
  const chunks: Buffer[] = [];
  for (let at = from; ;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (Number.isNaN(size)) throw new Error('expected the size of a chunk, got something else');
    const end = lineEnd + 2 + size + 2;
    if (bytes.length < end) return undefined;
    if (size === 0) return { body: Buffer.concat(chunks), end };
    chunks.push(bytes.subarray(lineEnd + 2, end - 2));
    at = end;
  }
}
