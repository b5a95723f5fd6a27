CREATE INDEX checks_by_environment ON checks (environment, id);
