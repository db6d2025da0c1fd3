import { Type, type Static } from 'typebox';
import { importRunStates, importStages, importVerdicts, type ImportVerdict } from './import-run-states.ts';
import { orNull } from './or-null.ts';
import { stated, statedList } from './stated.ts';
import { importChoiceSchema, importRulesSchema } from './import-choice.ts';
import { pageLimitDefault, pageLimitMax, pageQuerySchema, pageSchema } from './pagination.ts';

/** Why a check prevents the load. */
export const checkProblemCodes = ['no_events', 'too_many_rejected', 'unclear_replace', 'stored_before'] as const;
export type CheckProblemCode = (typeof checkProblemCodes)[number];

const time = orNull(Type.String({ format: 'date-time' }));
const count = Type.Integer({ minimum: 0 });
const countOrUnknown = orNull(count, 'Null if not known yet.');
const counts = Type.Record(Type.String(), count);

export const importStageSchema = Type.Object({
  stage: Type.Enum([...importStages, 'undo']),
  state: Type.Enum(['pending', 'active', 'done'], {
    description: '`active`: the current stage of the run, even while it is paused or has failed.',
  }),
  unit: Type.Enum(['records', 'events'], {
    description:
      'Unit of `done` and `total`. Until it is done, an undo also counts events that other runs load again and ids whose persons are rebuilt.',
  }),
  parts_done: count,
  parts_total: countOrUnknown,
  done: count,
  total: countOrUnknown,
  bytes: Type.Integer({ minimum: 0, description: 'Bytes before compression; in `export` as sent by the source.' }),
  bytes_total: countOrUnknown,
  share: orNull(Type.Number({ minimum: 0, maximum: 1 }), 'Completed share. Null if not known.'),
  rate: Type.Number({ description: '`done` per second over about the last 30 seconds.' }),
  eta_seconds: orNull(Type.Integer({ minimum: 0 }), 'Seconds until the stage is complete. Null if not known.'),
  started_at: time,
  finished_at: time,
  last_progress_at: time,
});

const rejectedMax = Type.Number({
  minimum: 0,
  maximum: 1,
  description: 'Maximum share of rejected records with which `load` starts: 0.01 is one in a hundred.',
});
const eventsPerSecond = Type.Integer({
  minimum: 0,
  maximum: 1_000_000,
  description: 'Maximum speed of loading. 0 means as fast as the target accepts.',
});
const again = Type.Boolean({
  description: 'Load although an earlier run created different events from the same records. Both are kept.',
});
const replace = Type.Union(
  [Type.Boolean(), Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: 20 })],
  {
    description:
      'Undo earlier runs before this one loads: true for the run that created different events from the same records, ' +
      'or ids of runs. Nothing is undone before the check has passed. Also requires the scope `import_undo:write`.',
  },
);
const last = Type.Enum(['check', 'report'], {
  description: 'The last stage to run. `check` converts and validates everything and sends nothing.',
});

export const importRunSchema = Type.Object({
  id: Type.String(),
  plugin_config: Type.Integer({ description: 'Id of the import app config. 0 for a run of the command line.' }),
  source: Type.String({ description: 'Slug of the import app.' }),
  state: Type.Enum([...importRunStates]),
  stage: Type.Enum([...importStages, 'undo']),
  reason: Type.String({ description: 'Why the run is paused or has failed, in one sentence. Otherwise empty.' }),
  waiting: orNull(
    Type.Object({ reason: Type.String(), until: time }),
    'What the run is waiting for. It resumes automatically.',
  ),
  eta_seconds: orNull(Type.Integer({ minimum: 0 }), 'Seconds until the current stage is complete.'),
  options: Type.Object({
    from: time,
    to: time,
    format: Type.String(),
    format_options: Type.Record(Type.String(), Type.String()),
    names: orNull(Type.Record(Type.String(), Type.Unknown()), 'Custom names. Null for those of the format.'),
    choose: orNull(importChoiceSchema, 'Selection and renaming. Null for everything, as the format converts it.'),
    transform: orNull(
      Type.Object({
        config: orNull(Type.Integer(), 'Id of the transformation config. Null for a file of the command line.'),
        name: Type.String(),
        hash: Type.String({
          description: 'Hash of code and settings. With another hash, records become different events.',
        }),
      }),
      'Code that changes events before the check. Null without such code.',
    ),
    again,
    replace,
    last,
    limit: orNull(Type.Integer({ minimum: 1 }), 'Maximum of records, for a trial run. Null for all.'),
    rejected_max: rejectedMax,
    events_per_second: eventsPerSecond,
    preflight: Type.Boolean({ description: 'Whether the run starts with the preflight.' }),
    scheduled: Type.Boolean({ description: 'Whether a schedule started the run.' }),
    target: Type.Object({
      kind: Type.Enum(['project', 'http']),
      url: orNull(Type.String()),
    }),
  }),
  stages: Type.Array(importStageSchema),
  totals: Type.Object({
    records: Type.Integer({ minimum: 0, description: 'Records in the source.' }),
    skipped: counts,
    rejected: count,
    events: Type.Integer({ minimum: 0, description: 'Events converted from the records.' }),
    left_out: Type.Record(Type.String(), count, {
      description: 'Events excluded by the choice, or because the project keeps their ids out, by reason.',
    }),
    duplicates: count,
    loaded: Type.Integer({ minimum: 0, description: 'Events acknowledged by the target.' }),
    replaced: Type.Record(Type.String(), count, { description: 'Undone events of replaced runs, by run.' }),
    verified: orNull(count, "Events found in the target's store. Null if not verified."),
    verdict: orNull(
      Type.Enum(Object.keys(importVerdicts) as ImportVerdict[]),
      'Result of the report. `exact`: the store holds every loaded event with every property. `exact_by_id`: every event is stored, ' +
        'transformations may have changed properties. `unverified`: acknowledged, but the store was not read. `incomplete`: the source ' +
        'reports missing records. `different`: counts or contents differ. Null before the report and after an undo.',
    ),
  }),
  check_problems: orNull(
    Type.Array(Type.Enum([...checkProblemCodes])),
    'Why the check prevents the load with the current options: nothing to load, more rejected than `rejected_max`, ambiguous run ' +
      'to replace, different events of the same records stored by an earlier run. Empty if it passed. Null if not checked.',
  ),
  promoted_from: orNull(Type.String(), 'Id of the trial run that this run completes.'),
  command: orNull(
    Type.String(),
    'For a run of the command line (config 0), the command that resumes it, with placeholders for secrets. Null for a run of an import app.',
  ),
  name: orNull(
    Type.String(),
    'For a run of the command line (config 0), a name made from its format and files. Null for a run of an import app.',
  ),
  created_at: Type.String({ format: 'date-time' }),
  started_at: time,
  finished_at: time,
});
export type ImportRunRecord = Static<typeof importRunSchema>;
export type ImportStageRecord = Static<typeof importStageSchema>;

export const importRunPageSchema = pageSchema(importRunSchema);

export const importRunQuerySchema = Type.Object({
  ...pageQuerySchema.properties,
  state: Type.Optional(Type.Enum([...importRunStates])),
});

/** Import runs of a project. */
export const importRunsQuerySchema = Type.Object({
  state: Type.Optional(
    Type.String({
      ...statedList(importRunStates),
      description: `Comma-separated states to return: ${importRunStates.join(', ')}.`,
    }),
  ),
  plugin_config: Type.Optional(Type.Integer({ minimum: 1, description: 'Only runs of this config.' })),
  source: Type.Optional(
    Type.String({ maxLength: 200, description: 'Only runs of the import app with this slug, e.g. `files`.' }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: pageLimitMax, default: pageLimitDefault, description: 'Runs per page.' }),
  ),
  cursor: Type.Optional(
    Type.String({ ...stated.cursor, description: 'Position after the previous page, from `next`.', maxLength: 100 }),
  ),
});

export const importRunsSchema = Type.Object({
  next: orNull(Type.String(), 'URL of the next page, with older runs.'),
  previous: Type.Null({ description: 'Always null: pages only go from new to old.' }),
  by_state: Type.Record(Type.String(), Type.Integer(), {
    description: 'Number of runs in each state, regardless of the page.',
  }),
  results: Type.Array(
    Type.Object({
      ...importRunSchema.properties,
      config_name: orNull(
        Type.String(),
        'Name of the config or its app, or of the run if it is one of the command line. Null if the config was deleted.',
      ),
    }),
    { description: 'Newest first.' },
  ),
});
export type ImportRunsRecord = Static<typeof importRunsSchema>;

/** Omitted fields default to the config's settings. */
export const importRunCreateSchema = Type.Object({
  from: Type.Optional(orNull(Type.String(stated.time), 'Only records from this ISO 8601 time onwards.')),
  to: Type.Optional(
    orNull(Type.String(stated.time), 'Only records before this ISO 8601 time, which must be after `from`.'),
  ),
  last: Type.Optional(last),
  limit: Type.Optional(
    orNull(Type.Integer({ minimum: 1, maximum: 1_000_000_000 }), 'Maximum of records, for a trial run.'),
  ),
  rejected_max: Type.Optional(rejectedMax),
  events_per_second: Type.Optional(eventsPerSecond),
  format: Type.Optional(Type.String({ description: "Slug of the records' format." })),
  format_options: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  names: Type.Optional(
    orNull(
      Type.Record(Type.String(), Type.Unknown()),
      'Names of events and properties, in the form in which the format prints its own.',
    ),
  ),
  again: Type.Optional(again),
  replace: Type.Optional(replace),
  choose: Type.Optional(orNull(importChoiceSchema, 'Which records are imported and how they are renamed.')),
  transform: Type.Optional(
    orNull(
      Type.Integer({ minimum: 1, maximum: 2_147_483_647 }),
      'Id of a transformation config of the project whose code changes or drops each event before the check. It need not be enabled.',
    ),
  ),
  preflight: Type.Optional(Type.Boolean({ description: 'False skips the preflight: the run starts with the export.' })),
});
export type ImportRunCreate = Static<typeof importRunCreateSchema>;

export const importRunResumeSchema = Type.Object({
  rejected_max: Type.Optional(rejectedMax),
  events_per_second: Type.Optional(eventsPerSecond),
  last: Type.Optional(last),
  again: Type.Optional(again),
  replace: Type.Optional(replace),
  rules: Type.Optional(importRulesSchema),
});
export type ImportRunResume = Static<typeof importRunResumeSchema>;

/** Report of `millrace import` about its run. */
export const importRunReportSchema = Type.Object({
  begin: Type.Optional(
    Type.Boolean({ description: 'True when the command starts or resumes the run. Default false.' }),
  ),
  command: Type.String({
    maxLength: 100_000,
    description: 'The command that resumes the run, with placeholders for secrets.',
  }),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 400, description: 'Name of the run, to be listed.' })),
  days: orNull(
    Type.Object({ first: Type.String({ format: 'date' }), last: Type.String({ format: 'date' }) }),
    'First and last day (UTC) of the events. Null if not known yet.',
  ),
  run: Type.Object({
    source: Type.String({ maxLength: 200, description: 'Slug of the import app.' }),
    state: Type.Enum(['running', 'paused', 'failed', 'cancelled', 'completed']),
    stage: Type.Enum([...importStages]),
    reason: Type.String({ maxLength: 2000, description: 'Why the run is paused or has failed. Otherwise empty.' }),
    options: importRunSchema.properties.options,
    stages: Type.Array(importStageSchema, { maxItems: 10 }),
    totals: importRunSchema.properties.totals,
  }),
});
export type ImportRunReport = Static<typeof importRunReportSchema>;

export const importRunReportIdSchema = Type.Object({
  run: Type.String({ format: 'uuid', description: 'Id of the run, which its events have as `$import_run_id`.' }),
});

export const importRunIdSchema = Type.Object({
  id: Type.Integer({ description: 'Id of the import app config. 0 for a run of the command line.' }),
  run: Type.String({ description: 'Id of the run.' }),
});

export const importReportQuerySchema = Type.Object({
  format: Type.Optional(Type.Enum(['json', 'html'], { description: 'Overrides the `Accept` header.' })),
});

export const importFileSchema = Type.Object({
  name: Type.String(),
  path: Type.String({ description: 'Path to enter in the settings of the import app.' }),
  bytes: count,
  complete: Type.Boolean({
    description:
      'False while pieces of a file with an announced `size` are missing. Imports do not read it until then.',
  }),
  sha256: orNull(Type.String(), 'SHA-256 of the received piece. Null in the list.'),
  uploaded_at: Type.String({ format: 'date-time' }),
});
export type ImportFileRecord = Static<typeof importFileSchema>;

export const importFileListSchema = Type.Object({
  count,
  bytes_max: Type.Integer({ description: 'Maximum size of a file.' }),
  total_bytes: Type.Integer({ description: 'Size of all files.' }),
  total_bytes_max: Type.Integer({ description: 'Maximum size of all files of the project.' }),
  results: Type.Array(importFileSchema),
});

export const importFileQuerySchema = Type.Object({
  name: Type.Optional(Type.String({ maxLength: 200, description: 'File name. A multipart body contains its own.' })),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Offset of this piece of a file, which is where the previous piece ended. 0 for the first.',
    }),
  ),
  size: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'Size of the whole file, sent with each of its pieces. Until all are received, the file is not complete and does not replace ' +
        'one of the same name.',
    }),
  ),
});

export const importFileNameSchema = Type.Object({ name: Type.String({ description: 'File name as listed.' }) });
