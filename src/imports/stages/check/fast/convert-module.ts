import { openWasm, wasmPageBytes, type Wasm } from '../../../../base/wasm.ts';

/** Functions that the module imports, as declared in assembly/convert/host.ts. Positions are offsets in its memory. */
export interface Host {
  meaningOfKey(table: number, from: number, to: number): number;
  answerTo(memo: number): number;
  fromZone(zone: number, ms: number): number;
  hasTwoCharacters(from: number, to: number): boolean;
  countUuid(isContent: boolean, uuid: number, at: number): number;
}

/** Variables of the module that the program sets; assembly/convert documents them. */
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
  | 'keysSeen'
  | 'unmapped'
  | 'texts'
  | 'textsEnd'
  | 'lists'
  | 'listCount'
  | 'namesSeen'
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
  | 'normalisedTexts'
  | 'normalisedCount'
  | 'normalisedPieces'
  | 'values'
  | 'isNormalised'
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
  | 'unmappedCounts';

interface Code {
  heapBase(): number;
  /** Returns the address of the result of the last `convert`. */
  block(): number;
  /** Converts lines; returns the start of the first one that was not converted. */
  convert(from: number, to: number): number;
  /** Writes a time, in µs since the epoch, in the form of event texts; returns its end. */
  writeTimeOf(at: number, micros: number): number;
}

type Exports = Code & Readonly<Record<Variable, { value: number }>>;

/** The WebAssembly module of assembly/convert.ts and its memory. It serves one converter at a time, its host. */
export interface ConvertModule {
  readonly code: Code;
  host: Host | undefined;
  /** The memory as bytes and as 32-bit words; `grow` replaces both. */
  readonly bytes: Buffer;
  readonly words: Int32Array;
  /** Grows the memory to at least this size. */
  grow(bytes: number): void;
  set(values: Readonly<Partial<Record<Variable, number>>>): void;
}

const pagesAtFirst = 16;

/** Returns `undefined` if the module is not built; all records are then read as objects. */
export function openConvertModule(): ConvertModule | undefined {
  const host = (): Host => {
    if (module?.host === undefined) throw new Error('expected a converter that uses the module');
    return module.host;
  };
  const opened = openWasm<Exports>('convert', pagesAtFirst, {
    host: {
      meaningOfKey: (table = 0, from = 0, to = 0) => host().meaningOfKey(table, from, to),
      answerTo: (memo = 0) => host().answerTo(memo),
      fromZone: (zone = 0, ms = 0) => host().fromZone(zone, ms),
      hasTwoCharacters: (from = 0, to = 0) => Number(host().hasTwoCharacters(from, to)),
      countUuid: (isContent = 0, uuid = 0, at = 0) => host().countUuid(isContent !== 0, uuid, at),
    },
  });
  const module = opened && moduleOf(opened);
  return module;
}

function moduleOf({ exports, memory }: Wasm<Exports>): ConvertModule {
  let bytes = Buffer.from(memory.buffer);
  let words = new Int32Array(memory.buffer);
  return {
    code: exports,
    host: undefined,
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

/** Throws if the module was built from other sources than this program. */
function variableOf(exports: Exports, name: Variable): { value: number } {
  const variable = exports[name] as { value: number } | undefined;
  if (variable !== undefined) return variable;
  throw new Error(`expected dist/convert.wasm to have the variable ${name}, got an older build; run \`npm run build\``);
}
