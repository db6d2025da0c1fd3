import type { Column } from './columns.ts';
import { exportTable, type TableDeps } from './export-tables.ts';
import type { ExportedPart, ExportProgress, ExportSpec, ExportTableName } from '../../wire/contract/exports.ts';

/** Describes a complete export. It is the last file to be written: an export without it is incomplete. */
export interface ExportManifest {
  readonly version: 1;
  readonly export_id: string;
  readonly project_id: number;
  readonly format: string;
  readonly shape: string;
  readonly compression: string;
  /** As requested. */
  readonly selection: ExportSpec['selection'];
  readonly received_before: string;
  readonly unfinished_runs: readonly string[];
  readonly tables: Readonly<Partial<Record<ExportTableName, TableTotals>>>;
  readonly parts: readonly ExportedPart[];
}

interface TableTotals {
  readonly columns: readonly Column[];
  readonly rows: number;
  readonly bytes: number;
  /** Of events: number by name. */
  readonly names?: Readonly<Record<string, number>>;
}

export interface ManifestOf {
  readonly id: string;
  readonly projectId: number;
  readonly spec: ExportSpec;
  readonly progress: ExportProgress;
  readonly deps: TableDeps;
}

export function manifestOf({ id, projectId, spec, progress, deps }: ManifestOf): ExportManifest {
  const { received_before, unfinished_runs, parts, names } = progress;
  const totals = spec.tables.map((name) => {
    const { columns } = exportTable(name, deps);
    const { rows, bytes } = sumOf(parts.filter(({ table }) => table === name));
    return [name, { columns, rows, bytes, ...(name === 'events' && { names }) }] as const;
  });
  return {
    version: 1,
    export_id: id,
    project_id: projectId,
    format: spec.format,
    shape: spec.shape,
    compression: spec.compression,
    selection: spec.selection,
    received_before,
    unfinished_runs,
    tables: Object.fromEntries(totals),
    parts,
  };
}

export function sumOf(parts: readonly ExportedPart[]): { readonly rows: number; readonly bytes: number } {
  return {
    rows: parts.reduce((sum, { rows }) => sum + rows, 0),
    bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}
