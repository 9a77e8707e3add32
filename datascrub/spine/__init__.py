"""The spine: survey, measure one shard, judge, account."""
