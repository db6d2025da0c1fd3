/** A line of a stream of server-sent events that is longer than this is none of ours. */
const lineCharsMax = 4_000_000;

/** The data of every server-sent event of this name, as it comes. Comments (heartbeats) and other events are passed over. */
export async function* serverSentData(response: Response, name: string): AsyncIterable<string> {
  let [event, data] = ['', [] as string[]];
  for await (const line of linesOf(response)) {
    if (line === '') {
      if (event === name && data.length > 0) yield data.join('\n');
      [event, data] = ['', []];
    } else if (line.startsWith('event:')) event = valueOf(line);
    else if (line.startsWith('data:')) data.push(valueOf(line));
  }
}

function valueOf(line: string): string {
  return line.slice(line.indexOf(':') + 1).replace(/^ /, '');
}

async function* linesOf(response: Response): AsyncIterable<string> {
  if (response.body === null) return;
  let rest = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split(/\r?\n/);
    rest = lines.pop() ?? '';
    if (rest.length > lineCharsMax)
      throw new Error(`expected server-sent events from ${response.url}, got a line without end`);
    yield* lines;
  }
}
