import type { ServiceRetention } from '../../wire/contract/retention.ts';
import type { Settings } from '../config/settings.ts';

/** Returns what the service keeps for how long, as in the API. */
export function serviceRetentionOf(settings: Settings): ServiceRetention {
  return {
    retention_hour: settings.retentionHour,
    dead_letter_days: settings.deadLetterDays,
    count_days: settings.countDays,
    activity_days: settings.activityDays,
    plugin_log_days: settings.pluginLogDays,
    import_upload_days: settings.importUploadDays,
    import_keep_days: settings.importKeepDays,
    import_run_days: settings.importRunDays,
  };
}
