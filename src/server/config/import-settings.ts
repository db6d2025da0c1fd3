/** Settings of historical imports. Part of the table in settings.ts. */
export const importSettings = {
  importStaging: {
    env: 'MILLRACE_IMPORT_STAGING',
    type: 'string',
    default: '',
    help: 'Storage for files of imports: a directory, or s3://bucket/prefix. Empty for `imports` in the data directory.',
  },
  importStagingEndpoint: {
    env: 'MILLRACE_IMPORT_STAGING_ENDPOINT',
    type: 'string',
    default: '',
    help: 'Address of the S3-compatible service for MILLRACE_IMPORT_STAGING. Empty for AWS.',
  },
  importStagingRegion: {
    env: 'MILLRACE_IMPORT_STAGING_REGION',
    type: 'string',
    default: 'us-east-1',
    help: 'Region of the bucket of MILLRACE_IMPORT_STAGING.',
  },
  importStagingAccessKeyId: {
    env: 'MILLRACE_IMPORT_STAGING_ACCESS_KEY_ID',
    type: 'string',
    default: '',
    secret: true,
    help: "Access key for the bucket of MILLRACE_IMPORT_STAGING. Empty for the machine's credentials.",
  },
  importStagingSecretAccessKey: {
    env: 'MILLRACE_IMPORT_STAGING_SECRET_ACCESS_KEY',
    type: 'string',
    default: '',
    secret: true,
    help: 'Secret key for MILLRACE_IMPORT_STAGING_ACCESS_KEY_ID.',
  },
  importDiskBudget: {
    env: 'MILLRACE_IMPORT_DISK_BUDGET',
    type: 'integer',
    default: 0,
    min: 0,
    max: 1_125_899_906_842_624,
    help: 'Maximum bytes of all imports in staging; beyond it they wait. 0 for no limit except that 1 GiB of the disk stays free.',
  },
  importKeepDays: {
    env: 'MILLRACE_IMPORT_KEEP_DAYS',
    type: 'integer',
    default: 7,
    min: 0,
    max: 3650,
    help: 'Days that the staged records of a verified or cancelled run are kept.',
  },
  importUploadDays: {
    env: 'MILLRACE_IMPORT_UPLOAD_DAYS',
    type: 'integer',
    default: 0,
    min: 0,
    max: 36_500,
    help:
      'Days that files uploaded for imports are kept after their last change, and in any case while a run of the project has not ' +
      'ended. 0 keeps them until they are deleted.',
  },
  importRunDays: {
    env: 'MILLRACE_IMPORT_RUN_DAYS',
    type: 'integer',
    default: 90,
    min: 1,
    max: 36_500,
    help:
      'Days that scheduled runs are kept after they end; those without new records only MILLRACE_IMPORT_KEEP_DAYS. ' +
      'Their events are kept but can no longer be undone. Runs started by users are kept permanently.',
  },
  importDirs: {
    env: 'MILLRACE_IMPORT_DIRS',
    type: 'string',
    default: '',
    help: 'Comma-separated directories whose files may be imported. Empty for `import-files` in the data directory.',
  },
  importMachineCredentials: {
    env: 'MILLRACE_IMPORT_MACHINE_CREDENTIALS',
    type: 'boolean',
    default: false,
    help:
      "Lets import apps of every project read buckets with this machine's credentials (environment, profile, role of the " +
      'instance). Only enable it if every user who can edit a config may read everything that this machine can read.',
  },
  importUploadBytesMax: {
    env: 'MILLRACE_IMPORT_UPLOAD_BYTES_MAX',
    type: 'integer',
    default: 10_737_418_240,
    min: 1024,
    max: 1_125_899_906_842_624,
    help: 'Maximum size in bytes of a file uploaded for an import.',
  },
  importUploadsBytesMax: {
    env: 'MILLRACE_IMPORT_UPLOADS_BYTES_MAX',
    type: 'integer',
    default: 107_374_182_400,
    min: 1024,
    max: 1_125_899_906_842_624,
    help: 'Maximum bytes of all uploaded files of a project. 1 GiB of the disk always stays free.',
  },
  importRuns: {
    env: 'MILLRACE_IMPORT_RUNS',
    type: 'integer',
    default: 2,
    min: 1,
    max: 64,
    help: 'Maximum number of concurrent imports.',
  },
  importMemoryBytesMax: {
    env: 'MILLRACE_IMPORT_MEMORY_BYTES_MAX',
    type: 'integer',
    default: 0,
    min: 0,
    max: 1_125_899_906_842_624,
    help:
      'Memory limit of the import process, in bytes. Beyond it, the process is restarted and its runs are resumed. 0 for half of ' +
      'the memory of the machine or container, 512 MiB to 4 GiB.',
  },
  importPreviewMemoryBytesMax: {
    env: 'MILLRACE_IMPORT_PREVIEW_MEMORY_BYTES_MAX',
    type: 'integer',
    default: 536_870_912,
    min: 268_435_456,
    max: 1_125_899_906_842_624,
    help: 'Memory limit in bytes of the process in which a preview or preflight reads its source. Beyond it, the preview fails.',
  },
  importPreflightMs: {
    env: 'MILLRACE_IMPORT_PREFLIGHT_MS',
    type: 'integer',
    default: 2500,
    min: 100,
    max: 600_000,
    help: 'Time limit of a preflight in ms. A target or source that has not answered by then is reported as unavailable or slow. Increase it on slow machines.',
  },
  importThreads: {
    env: 'MILLRACE_IMPORT_THREADS',
    type: 'integer',
    default: 0,
    min: 0,
    max: 256,
    help: 'Threads that check the records of an import, about 200 MB of memory each. 0 for one per core, at most 8.',
  },
} as const;
