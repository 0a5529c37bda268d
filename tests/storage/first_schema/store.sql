BEGIN TRANSACTION;
CREATE TABLE photinus_amendments (
	study_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	event INTEGER NOT NULL, 
	old_values TEXT NOT NULL, 
	new_values TEXT NOT NULL, 
	at TEXT NOT NULL, 
	PRIMARY KEY (study_id, number, event), 
	FOREIGN KEY(study_id, number) REFERENCES photinus_trials (study_id, number) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "photinus_amendments" VALUES(1,0,15,'{"loss":0.30000000000000004,"acc":1e+300}','{"loss":0.25,"acc":-0.0}','2030-01-01 00:00:03.500000');
INSERT INTO "photinus_amendments" VALUES(1,0,16,'{"loss":0.25,"acc":-0.0}','{"loss":5e-324,"acc":0.1}','2030-01-01 00:00:03.500000');
CREATE TABLE photinus_reports (
	study_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	step INTEGER NOT NULL, 
	"values" TEXT NOT NULL, 
	at TEXT NOT NULL, 
	PRIMARY KEY (study_id, number, step), 
	FOREIGN KEY(study_id, number) REFERENCES photinus_trials (study_id, number) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "photinus_reports" VALUES(1,0,0,'{"loss":1.0,"acc":0.0}','2030-01-01 00:00:01.500000');
INSERT INTO "photinus_reports" VALUES(1,0,1,'{"loss":0.5,"acc":0.1}','2030-01-01 00:00:01.500000');
INSERT INTO "photinus_reports" VALUES(1,0,2,'{"loss":0.3333333333333333,"acc":"inf"}','2030-01-01 00:00:01.500000');
INSERT INTO "photinus_reports" VALUES(1,0,3,'{"loss":0.25,"acc":"nan"}','2030-01-01 00:00:01.500000');
INSERT INTO "photinus_reports" VALUES(1,1,7,'{"loss":2.5,"acc":0.5}','2030-01-01 00:00:01.500000');
CREATE TABLE photinus_schema (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT photinus_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO "photinus_schema" VALUES('0001');
CREATE TABLE photinus_studies (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	project TEXT NOT NULL, 
	name TEXT NOT NULL, 
	problem TEXT NOT NULL, 
	algorithm TEXT NOT NULL, 
	seed INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	metadata TEXT NOT NULL, 
	num_trials INTEGER NOT NULL, 
	last_event INTEGER NOT NULL, 
	lock_owner TEXT, 
	lock_expires_at TEXT, 
	CONSTRAINT photinus_studies_by_name UNIQUE (project, name)
);
INSERT INTO "photinus_studies" VALUES(1,'default','it''s a "study" / 🔥','{"format":1,"space":{"format":1,"parameters":[{"name":"lr","type":"float","low":1e-05,"high":0.1,"scale":"log","children":[]},{"name":"layers","type":"int","low":1,"high":8,"scale":"linear","children":[]},{"name":"batch","type":"discrete","values":[16,32],"scale":"linear","children":[]},{"name":"opt","type":"categorical","values":["adam","sgd",null,true],"children":[]}],"constraints":[],"context":[]},"metrics":[{"name":"loss","goal":"minimize"},{"name":"acc","goal":"maximize"}]}','paper',4294967295,'active','2030-01-01 00:00:00.000000','{"team":"blue"}',8,20,'dead','2030-01-01 00:01:03.500000');
INSERT INTO "photinus_studies" VALUES(2,'other','empty','{"format":1,"space":{"format":1,"parameters":[{"name":"x","type":"float","low":0.0,"high":1.0,"scale":"linear","children":[]},{"name":"flag","type":"categorical","values":[false,true],"children":[]}],"constraints":[],"context":[]},"metrics":[{"name":"loss","goal":"minimize"}]}','random',7,'stopped','2030-01-01 00:00:03.500000','{}',0,0,NULL,NULL);
INSERT INTO "photinus_studies" VALUES(3,'default','one','{"format":1,"space":{"format":1,"parameters":[{"name":"x","type":"float","low":0.0,"high":1.0,"scale":"linear","children":[]},{"name":"flag","type":"categorical","values":[false,true],"children":[]}],"constraints":[],"context":[]},"metrics":[{"name":"loss","goal":"minimize"}]}','random',7,'active','2030-01-01 00:00:03.500000','{}',1,1,NULL,NULL);
CREATE TABLE photinus_trials (
	study_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	params TEXT NOT NULL, 
	state TEXT NOT NULL, 
	"values" TEXT, 
	message TEXT, 
	worker TEXT, 
	created_at TEXT, 
	started_at TEXT, 
	completed_at TEXT, 
	lease_expires_at TEXT, 
	attempts INTEGER NOT NULL, 
	created_event INTEGER NOT NULL, 
	asked_event INTEGER, 
	completed_event INTEGER, 
	updated_event INTEGER NOT NULL, 
	reason TEXT, 
	algorithm TEXT, 
	engine_version TEXT, 
	metadata TEXT NOT NULL, 
	PRIMARY KEY (study_id, number), 
	FOREIGN KEY(study_id) REFERENCES photinus_studies (id) ON DELETE CASCADE
);
INSERT INTO "photinus_trials" VALUES(1,0,'{"lr":3.3333333333333337e-06,"layers":1,"batch":16,"opt":null}','completed','{"loss":5e-324,"acc":0.1}',NULL,'w1','2030-01-01 00:00:00.000000','2030-01-01 00:00:00.000000','2030-01-01 00:00:02.500000',NULL,1,1,1,12,16,'{"method":"ucb","q50":0.0}','paper','0','{}');
INSERT INTO "photinus_trials" VALUES(1,1,'{"lr":6.6666666666666675e-06,"layers":2,"batch":16,"opt":true}','infeasible',NULL,'too big: é','w1','2030-01-01 00:00:00.000000','2030-01-01 00:00:00.000000','2030-01-01 00:00:02.500000',NULL,1,2,2,13,13,'{"method":"ucb","q50":0.1}','paper','0','{}');
INSERT INTO "photinus_trials" VALUES(1,2,'{"lr":1e-05,"layers":3,"batch":16,"opt":"adam"}','failed',NULL,'worker lost','w1','2030-01-01 00:00:00.000000','2030-01-01 00:00:00.000000','2030-01-01 00:00:02.500000',NULL,1,3,3,14,14,'{"method":"ucb","q50":0.2}','paper','0','{}');
INSERT INTO "photinus_trials" VALUES(1,3,'{"lr":1.3333333333333335e-05,"layers":4,"batch":16,"opt":null}','stopping',NULL,NULL,'w1','2030-01-01 00:00:00.000000','2030-01-01 00:00:00.000000',NULL,'2030-01-01 00:01:00.000000',1,4,4,NULL,17,'{"method":"ucb","q50":0.30000000000000004}','paper','0','{}');
INSERT INTO "photinus_trials" VALUES(1,4,'{"lr":1.6666666666666667e-05,"layers":5,"batch":16,"opt":true}','expired',NULL,NULL,'w1','2030-01-01 00:00:00.000000','2030-01-01 00:00:00.000000',NULL,NULL,1,5,5,NULL,18,'{"method":"ucb","q50":0.4}','paper','0','{}');
INSERT INTO "photinus_trials" VALUES(1,5,'{"lr":2e-05,"layers":6,"batch":16,"opt":"adam"}','active',NULL,NULL,'w1','2030-01-01 00:00:00.000000','2030-01-01 00:00:00.000000',NULL,'2030-01-01 00:01:00.000000',1,6,6,NULL,6,'{"method":"ucb","q50":0.5}','paper','0','{}');
INSERT INTO "photinus_trials" VALUES(1,6,'{"lr":2.3333333333333336e-05,"layers":7,"batch":16,"opt":null}','queued',NULL,NULL,NULL,'2030-01-01 00:00:03.500000',NULL,NULL,NULL,0,19,NULL,NULL,19,NULL,NULL,NULL,'{"from":"me"}');
INSERT INTO "photinus_trials" VALUES(1,7,'{"lr":2.666666666666667e-05,"layers":8,"batch":16,"opt":true}','completed','{"loss":1.0,"acc":0.0}',NULL,NULL,'2030-01-01 00:00:03.500000',NULL,'2030-01-01 00:00:03.500000',NULL,0,20,NULL,20,20,NULL,NULL,NULL,'{}');
INSERT INTO "photinus_trials" VALUES(3,0,'{"x":0.5,"flag":true}','active',NULL,NULL,NULL,'2030-01-01 00:00:03.500000','2030-01-01 00:00:03.500000',NULL,NULL,1,1,1,NULL,1,'{"why":0}','random','1','{}');
CREATE INDEX photinus_trials_open ON photinus_trials (study_id, state, number) WHERE state NOT IN ('completed', 'infeasible', 'failed');
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('photinus_studies',3);
COMMIT;
