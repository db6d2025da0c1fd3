import type { Queries } from '../../stores/metadata/queries.ts';
import type { JsonObject } from '../../base/json.ts';
import {
  loadGroups,
  loadGroupTypes,
  lockGroups,
  type GroupChanges,
  type GroupRow,
  type GroupTypeRow,
  type SharedGroupChanges,
} from './group-rows.ts';
import { formatRegisters, parseRegisters, registersForm, type RegistersForm } from './registers-text.ts';
import { applyChanges, type Registers } from './registers.ts';

/** Maximum of group types per project. */
export const groupTypesMax = 5;

interface Group {
  readonly projectId: number;
  readonly typeIndex: number;
  readonly key: string;
  createdAt: number;
  readonly registers: Registers;
  changedIn: number;
  /** Loaded from the store, or part of the changes of an earlier window. */
  isStored: boolean;
}

/** Requested by the name of its type, which may not have an index yet. */
interface WantedGroup {
  readonly projectId: number;
  readonly typeName: string;
  readonly key: string;
}

/** Groups kept in memory between windows, of all stores that share the limit. */
export const groupsMaxDefault = 50_000;

/**
 * Caches groups and group types in front of the metadata store. Works in windows as PersonStore does.
 * A type gets the first free index 0..4 when it is first seen; further types of a full project are not stored.
 */
export class GroupStore {
  readonly #db: Queries;
  readonly #groupsMax: () => number;
  readonly #load: typeof loadGroups;
  #types = new Map<number, Map<string, number>>();
  #groups = new Map<string, Group>();
  #wantedTypes = new Set<number>();
  #wantedGroups = new Map<string, WantedGroup>();
  #window = 0;
  #committed = 0;
  #newTypes: GroupTypeRow[] = [];
  #changed: Group[] = [];

  constructor(db: Queries, groupsMax: () => number = () => groupsMaxDefault, load = loadGroups) {
    this.#db = db;
    this.#groupsMax = groupsMax;
    this.#load = load;
  }

  /** Creates a store for one transaction on groups that other slots change as well. */
  static shared(tx: Queries): GroupStore {
    return new GroupStore(tx, undefined, lockGroups);
  }

  begin(window: number): void {
    this.#window = window;
    this.#wantedTypes.clear();
    this.#wantedGroups.clear();
    if (this.#groups.size <= this.#groupsMax()) return;
    for (const [key, group] of this.#groups) if (group.changedIn <= this.#committed) this.#groups.delete(key);
  }

  /** Announces that the window needs the group types of this project. */
  wantTypes(projectId: number): void {
    if (!this.#types.has(projectId)) this.#wantedTypes.add(projectId);
  }

  wantGroup(projectId: number, typeName: string, key: string): void {
    this.wantTypes(projectId);
    this.#wantedGroups.set(JSON.stringify([projectId, typeName, key]), { projectId, typeName, key });
  }

  /** Whether `load` has anything to do. */
  get wantsAny(): boolean {
    return this.#wantedTypes.size + this.#wantedGroups.size > 0;
  }

  async load(): Promise<void> {
    if (this.#wantedTypes.size > 0) {
      const projectIds = [...this.#wantedTypes];
      const rows = await loadGroupTypes(this.#db, projectIds);
      for (const projectId of projectIds) this.#types.set(projectId, new Map());
      for (const row of rows) this.#types.get(row.project_id)?.set(row.name, row.type_index);
    }
    // All slots lock groups in the same order.
    const missing = [...this.#missingByType().values()];
    for (const wanted of missing.sort((a, b) => a.projectId - b.projectId || a.typeIndex - b.typeIndex)) {
      const rows = await this.#load(this.#db, wanted.projectId, wanted.typeIndex, [...wanted.keys]);
      for (const row of rows) this.#groups.set(mapKey(row.project_id, row.type_index, row.group_key), groupOf(row));
    }
    this.#wantedTypes.clear();
    this.#wantedGroups.clear();
  }

  /** Returns the index of a type, assigned now if it is new; undefined when the project has no room for it. */
  typeIndex(projectId: number, name: string): number | undefined {
    const types = this.#types.get(projectId);
    if (types === undefined) throw new Error(`expected the group types of project ${projectId} to be loaded`);
    const known = types.get(name);
    if (known !== undefined) return known;
    const used = new Set(types.values());
    for (let index = 0; index < groupTypesMax; index++) {
      if (used.has(index)) continue;
      types.set(name, index);
      this.#newTypes.push({ project_id: projectId, type_index: index, name });
      return index;
    }
    return undefined;
  }

  /** Applies the `$group_set` of an event at `micros`. */
  update(projectId: number, typeIndex: number, key: string, set: JsonObject, micros: number): void {
    const at = mapKey(projectId, typeIndex, key);
    let group = this.#groups.get(at);
    let changed = false;
    if (group === undefined) {
      group = { projectId, typeIndex, key, createdAt: micros, registers: new Map(), changedIn: 0, isStored: false };
      this.#groups.set(at, group);
      changed = true;
    }
    if (micros < group.createdAt) {
      group.createdAt = micros;
      changed = true;
    }
    if (applyChanges(group.registers, { set, setOnce: null, unset: [] }, micros)) changed = true;
    if (!changed || group.changedIn === this.#window) return;
    group.changedIn = this.#window;
    this.#changed.push(group);
  }

  takeChanges(): GroupChanges {
    const types = this.#newTypes;
    const form = registersForm(this.#db);
    const groups = this.#changed.map((group) => toRow(group, form));
    for (const group of this.#changed) group.isStored = true;
    this.#newTypes = [];
    this.#changed = [];
    return { types, groups };
  }

  /** Takes the changes, with new groups in a separate list. */
  takeSharedChanges(): SharedGroupChanges {
    const isNew = this.#changed.map(({ isStored }) => !isStored);
    const { types, groups } = this.takeChanges();
    return {
      types,
      groups: groups.filter((_, index) => isNew[index] !== true),
      added: groups.filter((_, index) => isNew[index] === true),
    };
  }

  committed(window: number): void {
    this.#committed = window;
  }

  reset(): void {
    this.#types = new Map();
    this.#groups = new Map();
    this.#newTypes = [];
    this.#changed = [];
  }

  #missingByType(): Map<string, { projectId: number; typeIndex: number; keys: Set<string> }> {
    const missing = new Map<string, { projectId: number; typeIndex: number; keys: Set<string> }>();
    for (const { projectId, typeName, key } of this.#wantedGroups.values()) {
      const typeIndex = this.#types.get(projectId)?.get(typeName);
      if (typeIndex === undefined || this.#groups.has(mapKey(projectId, typeIndex, key))) continue;
      const at = `${projectId}:${typeIndex}`;
      const entry = missing.get(at) ?? { projectId, typeIndex, keys: new Set() };
      entry.keys.add(key);
      missing.set(at, entry);
    }
    return missing;
  }
}

function mapKey(projectId: number, typeIndex: number, key: string): string {
  return `${projectId}:${typeIndex}:${key}`;
}

function groupOf(row: GroupRow): Group {
  return {
    projectId: row.project_id,
    typeIndex: row.type_index,
    key: row.group_key,
    createdAt: row.created_at_micros,
    registers: parseRegisters(row.registers),
    changedIn: 0,
    isStored: true,
  };
}

function toRow(group: Group, form: RegistersForm): GroupRow {
  return {
    project_id: group.projectId,
    type_index: group.typeIndex,
    group_key: group.key,
    created_at_micros: group.createdAt,
    registers: formatRegisters(group.registers, form),
  };
}
