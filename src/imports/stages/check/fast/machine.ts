import { openWasm, wasmPageBytes, type Wasm } from '../../../../base/wasm.ts';

/** What assembly/convert.ts asks the program; see assembly/convert/ask.ts. Places are offsets in its memory. */
export interface Asked {
  meaningOfKey(table: number, from: number, to: number): number;
  answerTo(memo: number): number;
  fromZone(zone: number, ms: number): number;
  saysTwoCharacters(from: number, to: number): boolean;
  countUuid(isContent: boolean, uuid: number, at: number): number;
}

/** What it wants to be told, as it describes it. */
export type Variable =
  | 'objects'
  | 'objectCount'
  | 'pairLists'
  | 'pairListCount'
  | 'pairKinds'
  | 'members'
  | 'memberCount'
  | 'properties'
  | 'propertyCount'
  | 'keysHad'
  | 'heard'
  | 'texts'
  | 'textsEnd'
  | 'lists'
  | 'listCount'
  | 'namesHad'
  | 'namePlaces'
  | 'textZone'
  | 'numberZone'
  | 'timeUnit'
  | 'areDigits'
  | 'isKept'
  | 'timeMember'
  | 'timeMemo'
  | 'steps'
  | 'stepCount'
  | 'groups'
  | 'source'
  | 'sourceBytes'
  | 'settled'
  | 'settledCount'
  | 'settledPieces'
  | 'values'
  | 'isSettled'
  | 'urlProperty'
  | 'hostProperty'
  | 'pathProperty'
  | 'codeProperty'
  | 'countryProperty'
  | 'noGeoipProperty'
  | 'groupsProperty'
  | 'profileProperty'
  | 'trimmedGroups'
  | 'addsPerson'
  | 'uuidKind'
  | 'uuidMember'
  | 'nameSpace'
  | 'nameSpaceBytes'
  | 'contentSpace'
  | 'contentSpaceBytes'
  | 'countsNames'
  | 'uuidParts'
  | 'uuidPartCount'
  | 'uuidPartsGiven'
  | 'message'
  | 'messageBytes'
  | 'names'
  | 'identities'
  | 'ending'
  | 'endingBytes'
  | 'eventBytesMax'
  | 'microsMax'
  | 'rows'
  | 'uuids'
  | 'times'
  | 'days'
  | 'events'
  | 'ids'
  | 'propertiesColumn'
  | 'skipped'
  | 'heardCounts';

interface Code {
  heapBase(): number;
  /** Place of what the last call of `convert` came to. */
  block(): number;
  /** Converts the lines there; gives where the first one begins that it did not take. */
  convert(from: number, to: number): number;
  /** Writes a time, µs since the epoch, as texts of events have it; gives where it ends. */
  writeTimeOf(at: number, micros: number): number;
}

type Exports = Code & Readonly<Record<Variable, { value: number }>>;

/** The code that converts, and its memory: for one converter at a time, which is the one that is asked. */
export interface PlainMachine {
  readonly code: Code;
  asked: Asked | undefined;
  /** The memory, and the same by four bytes; others after `grow`. */
  readonly bytes: Buffer;
  readonly words: Int32Array;
  /** Makes room up to so many bytes. */
  grow(bytes: number): void;
  set(values: Readonly<Partial<Record<Variable, number>>>): void;
}

const pagesAtFirst = 16;

/** Undefined: it was not built, and records are read as objects. */
export function openPlainMachine(): PlainMachine | undefined {
  const machine: { asked: Asked | undefined } = { asked: undefined };
  const who = (): Asked => {
    if (machine.asked === undefined) throw new Error('expected a converter to be at work');
    return machine.asked;
  };
  const opened = openWasm<Exports>('convert', pagesAtFirst, {
    ask: {
      meaningOfKey: (table = 0, from = 0, to = 0) => who().meaningOfKey(table, from, to),
      answerTo: (memo = 0) => who().answerTo(memo),
      fromZone: (zone = 0, ms = 0) => who().fromZone(zone, ms),
      saysTwoCharacters: (from = 0, to = 0) => Number(who().saysTwoCharacters(from, to)),
      countUuid: (isContent = 0, uuid = 0, at = 0) => who().countUuid(isContent !== 0, uuid, at),
    },
  });
  return opened && machineOf(opened, machine);
}

function machineOf({ exports, memory }: Wasm<Exports>, who: { asked: Asked | undefined }): PlainMachine {
  let bytes = Buffer.from(memory.buffer);
  let words = new Int32Array(memory.buffer);
  return {
    code: exports,
    get asked() {
      return who.asked;
    },
    set asked(asked) {
      who.asked = asked;
    },
    get bytes() {
      return bytes;
    },
    get words() {
      return words;
    },
    grow: (size) => {
      const missing = Math.ceil((size - bytes.length) / wasmPageBytes);
      if (missing <= 0) return;
      memory.grow(missing);
      bytes = Buffer.from(memory.buffer);
      words = new Int32Array(memory.buffer);
    },
    set: (values) => {
      for (const [name, value] of Object.entries(values)) variableOf(exports, name as Variable).value = value;
    },
  };
}

/** Throws where the module was built of other sources than this program. */
function variableOf(exports: Exports, name: Variable): { value: number } {
  const variable = exports[name] as { value: number } | undefined;
  if (variable !== undefined) return variable;
  throw new Error(`expected dist/convert.wasm to have the variable ${name}, got an older build; run \`npm run build\``);
}
